"""Checks of a solved walk: free-body balance, energy, measured curves, criteria; files for other programs."""
