"""The alphabet of the compiled loops: SIMD lanes, spatial algebra, poses, packed models, batches of nodes."""
