"""Systems x' = f(x, u) of named states as the dynamics of a problem, and their controls."""
