"""What the compiled algorithms are written in: SIMD lanes, spatial algebra, joint motion, packed models."""
