"""What solves cost: solving again, the dense method, two libraries of IPOPT, stages of a solve, fine meshes."""
