"""Brackets of an objective whose switching structure is not confirmed, by local refinement of its spline."""
