"""Equations over a part of the motion: their residuals between nodes, and what these are compared with."""
