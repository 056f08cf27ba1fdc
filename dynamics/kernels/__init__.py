"""Foundations of the compiled algorithms: SIMD lanes, spatial algebra, joint motion, packed models."""
