"""The double integrator x'' = u as a system, and its move of least effort, whose optimum is a polynomial."""

import trajopt


def double_integrator():
    return trajopt.system(("x", "v"), ("u",), lambda node: [node.v, node.u])


@trajopt.term
def effort(node):
    return node.u**2


def least_effort(intervals=5, order=3, points="radau", system=None):
    """Rest to rest over one metre in one second: u = 6 - 12 t, integral 12."""
    mesh = trajopt.Trajectory.collocation(intervals, order, points, duration=1.0)
    problem = trajopt.Problem(system or double_integrator(), mesh)
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x=[1.0, 0.0])
    problem.minimize(effort)
    return problem
