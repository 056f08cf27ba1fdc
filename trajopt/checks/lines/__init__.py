"""Every statement of a problem checked on a motion, one line for each of its components."""
