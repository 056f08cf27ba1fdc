"""Checks of a solved gait: free-body balance, energy, measured curves, criteria; files for other programs."""
