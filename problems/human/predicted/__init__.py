"""A step of walking whose contact is predicted: when feet land and lift off, and with what forces."""
