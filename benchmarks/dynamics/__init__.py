"""Cost per node of every function of the dynamics layer, beside Pinocchio, and its growth."""
