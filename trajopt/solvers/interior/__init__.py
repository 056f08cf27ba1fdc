"""An interior-point method whose matrix is a band of the unknowns in the order of time, with an arrow."""
