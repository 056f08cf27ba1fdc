"""Solvers of nonlinear programs behind one protocol, independent of robots and splines."""
