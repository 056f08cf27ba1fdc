"""Optimal control problems by kind: textbook classics, flight, mechanisms with drives, robots on legs."""
