"""Robots in which joints follow one coordinate by functions, such as the knees of OpenSim's models."""
