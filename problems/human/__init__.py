"""A human body that walks: skeleton, ground reactions, and what a step must satisfy."""
