"""A motion of a robot to look at: a page for browsers in three dimensions, or a GIF or MP4."""
