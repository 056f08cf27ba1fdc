"""A human body and its gait: skeleton, ground reactions, and the constraints on a step."""
