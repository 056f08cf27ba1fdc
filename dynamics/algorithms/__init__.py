"""Recursive algorithms of rigid-body dynamics and their exact derivatives, one recursion per file."""
