"""Checks of an answer by means that the solver never used, and diagnoses of failures."""
