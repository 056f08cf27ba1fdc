"""Limits that hold between the nodes: further nodes for limits, and motions slowed in time."""
