"""Better answers from answers: inserted knots, limits for all times, and exact switching structures."""

from trajopt.former_paths import forward

__getattr__ = forward(__name__)
