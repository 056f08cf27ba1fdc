"""Robots on legs: seconds, forces that are missing between nodes, other starts, MuJoCo and Crocoddyl."""
