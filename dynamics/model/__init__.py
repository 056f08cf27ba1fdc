"""A robot as a value: joints, bodies, the tree they form, and its checks."""
