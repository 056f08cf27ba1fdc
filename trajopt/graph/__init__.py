"""Quantities at the nodes and their derivatives: blocks, the graph they form, the chain rule through it."""
