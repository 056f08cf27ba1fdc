"""What a motion is: B-spline bases, arcs with their durations, curves in time, and sets of nodes."""
