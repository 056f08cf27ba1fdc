"""Protocols that the graph and all above it are written against: blocks, terms, the dynamics of a robot."""
