"""From a problem to a sparse nonlinear program, and from its unknowns back to curves."""

from trajopt.former_paths import forward

__getattr__ = forward(__name__)
