"""An interior-point solver for small programs, with dense linear algebra of the size of the unknowns."""
