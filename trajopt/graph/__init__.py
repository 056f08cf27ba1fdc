"""Quantities at the nodes and their derivatives: blocks, the graph they form, the chain rule through it."""

from trajopt.former_paths import forward

__getattr__ = forward(__name__)
