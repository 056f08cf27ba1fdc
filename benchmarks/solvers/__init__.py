"""What solves cost: stages of one, solving again, the dense method, libraries of IPOPT, fine meshes."""
