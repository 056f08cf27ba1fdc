"""The torques of a robot as a matrix of its motion times its inertial and friction parameters."""
