"""Brackets of an optimum whose switching structure is not confirmed: local refinement and what it leaves."""
