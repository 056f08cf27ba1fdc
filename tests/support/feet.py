"""Errors of the equations of a floating base under the forces of feet, and distances that feet slide."""

import numpy as np

import dynamics
import trajopt


def missing_at_base(solution, t):
    """(k, 6) N and N m, by inverse dynamics at times t (k,): zero where the ground carries the robot."""
    robot = solution.problem.dynamics
    external = np.zeros((t.size, robot.link_count, 6))
    for contact in (each for each in solution.asked.contacts.values() if each.arcs):
        wrench = trajopt.term(name=f"wrench on {contact.frame}")(contact.wrench)
        external[:, robot.link_index(contact.link)] += solution.value(wrench, t)
    return dynamics.rnea(robot, solution.q(t), solution.v(t), solution.a(t), external)[:, :6]


def slip(solution, contact, t):
    """m, how far a frame that stands moves within times t (k,)."""
    place = solution.value(trajopt.position(contact.frame), t)
    return float(np.abs(place - place[0]).max())
