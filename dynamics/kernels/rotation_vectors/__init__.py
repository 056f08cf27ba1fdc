"""Rotation vectors: the chart beside one of joints in series, and what it carries from one to the other."""
