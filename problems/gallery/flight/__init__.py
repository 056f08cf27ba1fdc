"""Rockets, a spacecraft, a shuttle and a quadrotor: how high, how far and how fast they fly."""
