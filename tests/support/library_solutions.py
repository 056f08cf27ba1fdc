"""Problems of the library solved as they are, each once for all tests of a process."""

import functools

import trajopt
from problems import catalogue


@functools.cache
def solved_at_defaults(name):
    solution = trajopt.solve(catalogue.build(name, {}), progress="silent")
    assert solution.converged, solution.status
    return solution
