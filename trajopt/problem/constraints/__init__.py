"""Statements of a problem made from what users give: boundary values, integrals, periodicity, free joints."""
