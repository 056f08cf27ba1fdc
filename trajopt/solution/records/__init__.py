"""Records of how a solution came about."""
