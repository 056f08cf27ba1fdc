"""Echeandia and Wensing: Coriolis matrix (Algorithm 1), Christoffel symbols (Algorithm 2), their remarks."""
