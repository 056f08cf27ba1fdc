"""Echeandia's thesis, chapter 4: forward dynamics with exact rotors, from Gauss' principle (4.1) to MABA."""
