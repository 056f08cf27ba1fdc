"""A killed solve goes on from its checkpoint, and no file is ever half-written."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hand_written import two_link_minimum_time

import trajopt
from trajopt.base import errors
from trajopt.solvers.wrappers.checkpoint import Checkpointed, read


def solve_with_checkpoints(problem, path, **options):
    return trajopt.solve(problem, Checkpointed(trajopt.Ipopt(), path, **options))


SLOW_SOLVE = """
    import pathlib, sys, time
    sys.path.insert(0, {tests!r})
    import trajopt
    from hand_written import two_link_minimum_time
    from trajopt.solvers.wrappers.checkpoint import Checkpointed
    solver = Checkpointed(trajopt.Ipopt(), {path!r}, every=0.0)
    def pause(iteration):
        if iteration.iteration == 8:
            pathlib.Path({reached!r}).touch()
            time.sleep(3600.0)
    trajopt.solve(two_link_minimum_time(20), solver, progress=pause)
"""


@pytest.mark.long
def test_a_killed_solve_resumes_to_the_same_optimum(tmp_path):
    path = tmp_path / "solve.ckpt"
    support = Path(__file__).parents[3] / "support"
    reached = tmp_path / "reached"
    script = textwrap.dedent(SLOW_SOLVE).format(tests=str(support), path=str(path), reached=str(reached))
    nlp = trajopt.transcribe(two_link_minimum_time(20))
    process = subprocess.Popen([sys.executable, "-c", script])
    try:
        while not reached.exists():
            time.sleep(0.01)
            assert process.poll() is None
            if path.exists():
                read(path, nlp)  # each is whole: a checkpoint is renamed into its place
    finally:
        process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not np.array_equal(read(path, nlp), nlp.start)
    resumed = trajopt.solve(two_link_minimum_time(20), Checkpointed(trajopt.Ipopt(), path), refine=None)
    plain = trajopt.solve(two_link_minimum_time(20), refine=None)
    assert resumed.converged and np.isclose(resumed.duration, plain.duration, rtol=1e-8)


@pytest.mark.long
def test_the_last_checkpoint_is_the_answer(tmp_path):
    path = tmp_path / "solve.ckpt"
    solution = solve_with_checkpoints(two_link_minimum_time(10), path)
    again = solve_with_checkpoints(two_link_minimum_time(10), path)
    assert solution.converged and np.isclose(again.duration, solution.duration, rtol=1e-8)
    assert [entry.name for entry in tmp_path.iterdir()] == ["solve.ckpt"]


@pytest.mark.long
def test_checkpoints_are_throttled(tmp_path):
    often = Checkpointed(trajopt.Ipopt(), tmp_path / "often", every=0.0)
    seldom = Checkpointed(trajopt.Ipopt(), tmp_path / "seldom", every=60.0)
    iterations = trajopt.solve(two_link_minimum_time(10), often, refine=None).iterations
    trajopt.solve(two_link_minimum_time(10), seldom)
    assert often.written >= iterations and seldom.written == 0 and (tmp_path / "seldom").exists()


@pytest.mark.long
def test_a_failed_write_warns_once_and_leaves_solve_and_earlier_checkpoint_alone(tmp_path, monkeypatch):
    path = tmp_path / "solve.ckpt"
    solve_with_checkpoints(two_link_minimum_time(10), path)
    before = path.read_bytes()

    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.warns(UserWarning, match="solve.ckpt cannot be written .No space left") as told:
        solution = solve_with_checkpoints(two_link_minimum_time(10), path, every=0.0, resume=False)
    assert solution.converged and len(told) == 1
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


@pytest.mark.long
def test_checkpoints_of_another_problem_and_foreign_files_are_refused(tmp_path):
    path = tmp_path / "solve.ckpt"
    solve_with_checkpoints(two_link_minimum_time(10), path)
    with pytest.raises(errors.SolutionFileError, match="checkpoint of another problem"):
        solve_with_checkpoints(two_link_minimum_time(12), path)
    assert solve_with_checkpoints(two_link_minimum_time(12), path, resume=False).converged
    solve_with_checkpoints(two_link_minimum_time(10), path, resume=False)
    weaker = two_link_minimum_time(10)
    weaker.constraints[-1] = replace(weaker.constraints[-1], upper=0.9 * weaker.constraints[-1].upper)
    with pytest.raises(errors.SolutionFileError, match="of another problem \\(other bounds"):
        solve_with_checkpoints(weaker, path)
    heavier = two_link_minimum_time(10)
    heavier.dynamics.mass = 0.6
    with pytest.raises(errors.SolutionFileError, match="its functions have other values"):
        solve_with_checkpoints(heavier, path)
    with path.open("wb") as stream:
        bare = dict.fromkeys(("y", "start", "bounds", "values"), np.zeros(3))
        np.savez(stream, header=np.array('{"format": "else"}'), **bare)
    with pytest.raises(errors.SolutionFileError, match="file of another kind"):
        solve_with_checkpoints(heavier, path)
    path.write_text("not a checkpoint")
    with pytest.raises(errors.SolutionFileError, match="is not a checkpoint that trajopt saved"):
        solve_with_checkpoints(two_link_minimum_time(12), path)


def test_impossible_options_are_refused(tmp_path):
    with pytest.raises(errors.OptionError, match="seconds between two checkpoints"):
        Checkpointed(trajopt.Ipopt(), tmp_path / "x", every=-1.0)
    with pytest.raises(errors.OptionError, match="is no folder"):
        Checkpointed(trajopt.Ipopt(), tmp_path / "missing" / "x")


@pytest.mark.long
def test_a_refinement_leaves_the_checkpoint_to_the_problem_that_was_asked(tmp_path):
    path = tmp_path / "solve.ckpt"
    seen = []
    solution = trajopt.solve(
        two_link_minimum_time(20),
        Checkpointed(trajopt.Ipopt(), path),
        refine=trajopt.Certified(tol=1e-6),
        progress=lambda iteration: seen.append(iteration.iteration),
    )
    assert solution.certificate.structure is not None
    assert read(path, trajopt.transcribe(two_link_minimum_time(20))).size
    assert seen.count(0) >= 2  # the uniform solve, and every one on arcs, are watched


def test_a_diagnosis_leaves_the_checkpoint_to_the_problem_that_was_asked(tmp_path):
    path = tmp_path / "solve.ckpt"
    assert trajopt.diagnose(two_link_minimum_time(8), Checkpointed(trajopt.Ipopt(), path)).feasible
    assert read(path, trajopt.transcribe(two_link_minimum_time(8))).size
