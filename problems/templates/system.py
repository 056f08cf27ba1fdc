"""NAME: any system x' = f(x, u), no robot needed; here a cart that is pushed and slowed by oil.

Solve it:       trajopt solve NAME.py --plot --report
Change it:      trajopt solve NAME.py --set drag=0.3 --set distance=2
Compare:        trajopt sweep NAME.py --set drag=0,0.1,0.2
Look first:     trajopt show NAME.py
"""

from __future__ import annotations

import trajopt


# Every parameter has a default, which says what it is: a whole number, a number, a list of so many numbers.
# `--set` changes it, and a saved solution remembers it.
def build(
    *,
    intervals: int = 20,
    duration: tuple[float, float] = (0.1, 20.0),
    distance: float = 1.0,
    mass: float = 1.0,
    drag: float = 0.1,
    force_limit: float = 2.0,
    power_limit: float = 1.5,
) -> trajopt.Problem:
    """The problem in SI units: drag in N s/m; duration is the shortest and the longest, in s."""

    # THE SYSTEM: names of states and controls, and the rate of every state, in the order of the states. Write
    # sums, products and functions of NumPy; they are differentiated exactly.
    def rates(node):
        return [node.speed, (node.force - drag * node.speed) / mass]

    units = {"x": "m", "speed": "m/s", "force": "N"}
    cart = trajopt.system(states=("x", "speed"), controls=("force",), rates=rates, units=units)

    # THE MOTION: polynomials on so many intervals; one duration instead of two would fix it.
    mesh = trajopt.Trajectory.collocation(intervals, duration=duration)
    problem = trajopt.Problem(cart, mesh, name="NAME")
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x=[distance, 0.0])  # None leaves a value free: [distance, None]

    # WHAT IS GOOD: terms with weights; their sum is minimized.
    problem.minimize(trajopt.duration)
    problem.minimize(trajopt.state("force") ** 2, weight=0.01, name="effort")

    # WHAT MUST HOLD: bounds of controls, and of any term of one's own.
    problem.control("force", lower=-force_limit, upper=force_limit)

    @trajopt.term(unit="W")
    def power(node):
        return node.force * node.speed

    problem.subject_to(power, upper=power_limit, name="power of the engine")

    # Limits hold at nodes; where one is exceeded in between, nodes are added and the problem is solved again.
    problem.recommend(trajopt.Ipopt(), refine=trajopt.LimitNodes())
    return problem
