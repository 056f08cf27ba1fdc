"""Contacts of a robot with the ground: when feet stand, where, and with what forces it pushes."""
