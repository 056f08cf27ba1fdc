"""Robots of MuJoCo: compiled models and MJCF read, and MJCF written."""
