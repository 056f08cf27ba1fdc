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

figure, axis = plt.subplots(figsize=(6, 3.6), layout="constrained")
axis.loglog([point.costs["time"] for point in front], [point.costs["effort"] for point in front], "o-")
for number, point in enumerate(front):
    place = (-6, -14) if number == 0 else (7, 3)  # the first two lie close together
    axis.annotate(
        f"u = {point.weight:g}",
        (point.costs["time"], point.costs["effort"]),
        place,
        textcoords="offset points",
        horizontalalignment="right" if number == 0 else "left",
    )
axis.set_xlim(0.4, 5.0)
axis.set_xticks([0.5, 1.0, 2.0, 4.0], ["0.5", "1", "2", "4"])
axis.set_xticks([], minor=True)
axis.set_xlabel("duration (s)")
axis.set_ylabel("effort (N² s + N² m² s)")
