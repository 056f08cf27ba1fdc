"""
Time against effort
===================

The slide and the link of Barman's thesis, for seven weights between time and effort.
"""

import matplotlib.pyplot as plt

import problems
import trajopt


@trajopt.term
def effort(node):
    return node.tau.T @ node.tau


front = trajopt.library.pareto_front(
    lambda u: problems.two_link_pr.build(u=u),
    [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.9],
    {"time": trajopt.duration, "effort": effort},
)

figure, axis = plt.subplots(figsize=(5.5, 3.4), layout="constrained")
axis.loglog([point.costs["time"] for point in front], [point.costs["effort"] for point in front], "o-")
for point in front:
    axis.annotate(
        f"u = {point.weight:g}",
        (point.costs["time"], point.costs["effort"]),
        (6, 4),
        textcoords="offset points",
    )
axis.set_xlabel("duration (s)")
axis.set_ylabel("effort (N² s, N² m² s)")
