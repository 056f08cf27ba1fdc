"""The chain rule from leaves at the nodes to the unknowns: sparse Jacobian and Hessian of fixed structure."""
