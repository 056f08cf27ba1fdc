"""Solvers of nonlinear programs behind one protocol; nothing here knows robots or splines."""
