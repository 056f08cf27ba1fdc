"""Muscles of people: those that moved a measured motion, their forces, and electromyography beside them."""
