"""A motion handed to a robot's controller as points between which it interpolates, and their files."""
