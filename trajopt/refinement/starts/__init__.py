"""Several starts: perturbed guesses solved on coarse meshes, the best different optima carried on."""
