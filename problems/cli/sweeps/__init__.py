"""Parameter sweeps: a problem solved at every point of a grid, on any executor; a file and a row of each."""
