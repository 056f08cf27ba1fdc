"""Measured forces on a person, and the joint moments that they and a measured motion ask for."""
