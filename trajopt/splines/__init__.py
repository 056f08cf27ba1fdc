"""B-splines: bases, arcs with durations, curves in time, quadrature rules, nodes and sets of nodes."""
