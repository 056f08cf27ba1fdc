"""Optimal control problems by kind: textbook classics, flight, mechanisms with joints and drives, robots on legs."""
