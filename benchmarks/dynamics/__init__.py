"""What every function of the dynamics layer costs per node, beside Pinocchio, and how the cost grows."""
