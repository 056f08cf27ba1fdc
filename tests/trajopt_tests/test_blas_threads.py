"""While a solve runs BLAS has one thread, then as many as before, unless the user has set a number."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import threadpoolctl
from double_integrator import least_effort

import trajopt
from trajopt.api import compiled_program
from trajopt.base.arrays import THREAD_VARIABLES

pytestmark = pytest.mark.skipif(os.cpu_count() == 1, reason="one core, one thread in any case")

WATCHED = """
import threadpoolctl, trajopt
from trajopt.solvers.solver import Run
from problems import two_link_rr

problem = two_link_rr.build()
trajopt.solve(problem)  # IPOPT and its BLAS are loaded
compiled = trajopt.compile(problem)
during = []

def threads(prefix=""):
    return {each["filepath"]: each["num_threads"] for each in threadpoolctl.threadpool_info()
            if each["user_api"] == "blas" and each["prefix"].startswith(prefix)}

def watch(iteration):
    during.append(threads())

def tell(before):
    assert threads() == before, (before, threads())
    print(max(max(each.values()) for each in during), min(before.values()), len(before))
    during.clear()
"""


def printed(*statements: str, **environment: str) -> list[list[int]]:
    """Most threads in a solve, least afterwards, libraries: of each statement, all in one process."""
    inherited = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    code = WATCHED + "".join(f"\nbefore = threads()\n{statement}\ntell(before)\n" for statement in statements)
    run = subprocess.run(
        [sys.executable, "-c", code],
        env=inherited | environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [[int(word) for word in line.split()] for line in run.stdout.splitlines()]


def test_a_solve_has_one_thread_and_gives_back_the_number_that_there_was(monkeypatch):
    for name in THREAD_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    problem, during = least_effort(2), []

    def threads():
        found = threadpoolctl.threadpool_info()
        return {each["filepath"]: each["num_threads"] for each in found if each["user_api"] == "blas"}

    trajopt.solve(problem)  # IPOPT and its BLAS are loaded
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        before = threads()
        trajopt.solve(problem, progress=lambda iteration: during.append(threads()))
        assert threads() == before and 2 in before.values()  # one loaded with a single thread keeps it
    assert during and {count for each in during for count in each.values()} == {1}


def test_a_measured_start_of_a_compiled_problem_is_found_with_one_thread(monkeypatch):
    """It solves small dense systems: with two threads a quadruped's step took twice the processor time."""
    for name in THREAD_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    compiled, during = trajopt.compile(least_effort(2)), []

    def watched(problem, starts):
        of_numpy = [each for each in threadpoolctl.threadpool_info() if "scipy_openblas" in each["prefix"]]
        during.append({each["num_threads"] for each in of_numpy})
        return problem

    monkeypatch.setattr(compiled_program, "with_measured_start", watched)
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        compiled.solve()
        compiled.step([0.0, 0.0])
    assert len(during) == 2 and 2 not in set.union(*during)


DENSE = """
watched, threads = threads, lambda: watched("libscipy_openblas")  # the BLAS that it calls
trajopt.solve(problem, trajopt.InteriorPoint(), progress=watch)
threads = watched
"""
FAILED = """
def refuse(iteration):
    watch(iteration)
    raise KeyError("by the callback")
try:
    trajopt.solve(problem, progress=refuse)
except KeyError:
    pass
"""
#: the second solve begins within the first and ends after it, in another thread
OVERLAPPING = """
from threading import Event, Thread
began, ended = Event(), Event()
def second(iteration):
    began.set()
    assert ended.wait(3600.0)
    watch(iteration)
def first(iteration):
    watch(iteration)
    assert began.wait(3600.0)
waiting = Thread(target=trajopt.solve, args=(two_link_rr.build(),), kwargs={"progress": second})
def start_the_second(iteration):
    if not waiting.is_alive() and not began.is_set():
        waiting.start()
    first(iteration)
trajopt.solve(problem, progress=start_the_second)
ended.set()
waiting.join()
"""
#: Ctrl-C ends the search for libraries
INTERRUPTED = """
from trajopt.base import arrays
search = arrays._libraries
def stop(loaded):
    raise KeyboardInterrupt
arrays._libraries = stop
try:
    trajopt.solve(problem)
except KeyboardInterrupt:
    pass
arrays._libraries = search
trajopt.solve(problem, progress=watch)
"""
#: the lock that the other thread holds is copied, the thread is not
FORKED = """
import os, signal
from trajopt.base import arrays
search, searching, forked = arrays._libraries, Event(), Event()
def slow(loaded):
    searching.set()
    assert forked.wait(3600.0)
    return search(loaded)
arrays._libraries = slow
other = Thread(target=trajopt.solve, args=(problem,), kwargs={"progress": watch})
other.start()
assert searching.wait(3600.0)
child = os.fork()
if child == 0:
    signal.alarm(3600)
    arrays._libraries = search
    with arrays.one_blas_thread():
        os._exit(0)
_, status = os.waitpid(child, 0)
forked.set()
other.join()
arrays._libraries = search
assert status == 0, status
"""
STATEMENTS = {
    "solve": "trajopt.solve(problem, progress=watch)",
    "compiled": "compiled.solve(progress=watch)",
    "ipopt alone": "trajopt.Ipopt().solve(compiled.program()[0], run=Run(callback=watch))",
    "dense": DENSE,
    "failed": FAILED,
    "overlapping": OVERLAPPING,
    "interrupted": INTERRUPTED,
    **({"forked": FORKED} if hasattr(os, "fork") else {}),
}


@pytest.mark.long
def test_every_blas_has_one_thread_in_a_solve_and_its_own_number_afterwards():
    """Also where a process is forked while another thread sets the limit: it can solve."""
    found = printed(*STATEMENTS.values())
    for name, (during, before, libraries) in zip(STATEMENTS, found, strict=True):
        assert during == 1, name
        assert before > 1, name  # the claim is about something
        assert libraries >= 3, name  # NumPy's, SciPy's, and that of IPOPT


@pytest.mark.long
def test_what_the_user_has_set_stays():
    ((during, before, _),) = printed("trajopt.solve(problem, progress=watch)", OPENBLAS_NUM_THREADS="2")

    assert during == before == 2
