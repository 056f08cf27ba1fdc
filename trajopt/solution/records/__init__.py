"""How a solution came about, as values: its run, its iterations, its refinement and its certification."""
