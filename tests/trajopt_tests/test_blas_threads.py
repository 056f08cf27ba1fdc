"""While a solve runs BLAS has one thread, then as many as before, unless the user has set a number."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import threadpoolctl
from double_integrator import least_effort

import trajopt
from trajopt.base.blas_threads import SETTINGS

pytestmark = pytest.mark.skipif(os.cpu_count() == 1, reason="one core, one thread in any case")

WATCHED = """
import threadpoolctl, trajopt
from trajopt.solvers.solver import Run
from problems import two_link_rr

problem = two_link_rr.build()
trajopt.solve(problem)  # IPOPT and its BLAS are loaded
def threads():
    return {each["filepath"]: each["num_threads"] for each in threadpoolctl.threadpool_info()
            if each["user_api"] == "blas"}

before, during = threads(), []
compiled = trajopt.compile(problem)
def watch(iteration):
    during.append(threads())

%s
assert threads() == before, (before, threads())
print(max(max(each.values()) for each in during), min(before.values()), len(before))
"""


def _printed(statement: str, **environment: str) -> list[int]:
    inherited = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    run = subprocess.run(
        [sys.executable, "-c", WATCHED % statement],
        env=inherited | environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [int(word) for word in run.stdout.split()]


def test_a_solve_has_one_thread_and_gives_back_the_number_that_there_was(monkeypatch):
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
    problem, during = least_effort(2), []

    def threads():
        found = threadpoolctl.threadpool_info()
        return {each["filepath"]: each["num_threads"] for each in found if each["user_api"] == "blas"}

    trajopt.solve(problem)  # IPOPT and its BLAS are loaded
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        before = threads()
        trajopt.solve(problem, progress=lambda iteration: during.append(threads()))
        assert threads() == before and set(before.values()) == {2}
    assert during and {count for each in during for count in each.values()} == {1}


@pytest.mark.long
@pytest.mark.parametrize(
    "statement",
    [
        "trajopt.solve(problem, progress=watch)",
        "compiled.solve(progress=watch)",
        "trajopt.Ipopt().solve(compiled.program()[0], run=Run(callback=watch))",
    ],
    ids=["solve", "compiled", "ipopt alone"],
)
def test_every_blas_has_one_thread_in_a_solve_and_its_own_number_afterwards(statement):
    during, before, libraries = _printed(statement)

    assert during == 1
    assert before > 1  # the claim is about something
    assert libraries >= 3  # NumPy's, SciPy's, and that of IPOPT


@pytest.mark.long
def test_the_dense_method_limits_the_blas_that_it_calls():
    during, before, _ = _printed(
        "def threads():\n"
        "    return {each['filepath']: each['num_threads'] for each in threadpoolctl.threadpool_info()\n"
        "            if each['prefix'] == 'libscipy_openblas'}\n"
        "before = threads()\n"
        "trajopt.solve(problem, trajopt.DenseInteriorPoint(), progress=watch)"
    )

    assert during == 1 and before > 1


@pytest.mark.long
def test_what_the_user_has_set_stays():
    during, before, _ = _printed("trajopt.solve(problem, progress=watch)", OPENBLAS_NUM_THREADS="2")

    assert during == before == 2


@pytest.mark.long
def test_a_failed_solve_restores_the_threads():
    failing = """
def refuse(iteration):
    during.append(threads())
    raise KeyError("by the callback")
try:
    trajopt.solve(problem, progress=refuse)
except KeyError:
    pass
"""
    during, before, _ = _printed(failing)

    assert during == 1 and before > 1


@pytest.mark.long
def test_overlapping_solves_in_threads_end_with_the_threads_of_before():
    """The second solve begins within the first and ends after it, in another thread."""
    overlapping = """
from threading import Event, Thread
began, ended = Event(), Event()
def second(iteration):
    began.set()
    assert ended.wait(3600.0)
    during.append(threads())
def first(iteration):
    during.append(threads())
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
    during, before, _ = _printed(overlapping)

    assert during == 1 and before > 1


@pytest.mark.long
def test_a_search_for_libraries_that_ctrl_c_ends_leaves_no_limit_behind():
    interrupted = """
from trajopt.base import blas_threads
search = blas_threads._libraries
def stop(loaded):
    raise KeyboardInterrupt
blas_threads._libraries = stop
try:
    trajopt.solve(problem)
except KeyboardInterrupt:
    pass
blas_threads._libraries = search
trajopt.solve(problem, progress=watch)
"""
    during, before, _ = _printed(interrupted)

    assert during == 1 and before > 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.long
def test_a_process_that_is_forked_while_another_thread_sets_the_limit_can_solve():
    """The lock that the other thread holds is copied, the thread is not."""
    forked = """
import os, signal, threading
from trajopt.base import blas_threads
search, searching, forked = blas_threads._libraries, threading.Event(), threading.Event()
def slow(loaded):
    searching.set()
    assert forked.wait(3600.0)
    return search(loaded)
blas_threads._libraries = slow
other = threading.Thread(target=trajopt.solve, args=(problem,), kwargs={"progress": watch})
other.start()
assert searching.wait(3600.0)
child = os.fork()
if child == 0:
    signal.alarm(3600)
    blas_threads._libraries = search
    with blas_threads.one_blas_thread():
        os._exit(0)
_, status = os.waitpid(child, 0)
forked.set()
other.join()
assert status == 0, status
"""
    during, before, _ = _printed(forked)

    assert during == 1 and before > 1
