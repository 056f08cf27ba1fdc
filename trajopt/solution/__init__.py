"""The answer as values: the motion, its multipliers, its certificate, its file."""

from trajopt.former_paths import forward

__getattr__ = forward(__name__)
