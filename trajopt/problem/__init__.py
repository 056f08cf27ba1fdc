"""What is asked: costs, constraints, unknowns and guesses, checked where they are stated."""

from trajopt.former_paths import forward

__getattr__ = forward(__name__)
