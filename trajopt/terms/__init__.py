"""What users minimize and bound: terms, their arithmetic, and terms made of NumPy classes."""

from trajopt.former_paths import forward

__getattr__ = forward(__name__)
