"""Colours of all figures and charts, apart from matplotlib: the card of a notebook does not load it."""

from __future__ import annotations

#: Okabe and Ito, Color Universal Design (2008); their yellow is left out, as it is too pale for a line.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
