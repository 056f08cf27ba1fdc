"""Contacts of a robot with the ground: when feet stand, where the ground is, and with what forces it pushes."""
