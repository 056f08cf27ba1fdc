"""Measured motions of people: files of angles and of markers, names and signs, and tracking them."""
