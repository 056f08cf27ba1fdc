"""Optimal control problems by kind: textbook classics, flight, and mechanisms with joints and drives."""
