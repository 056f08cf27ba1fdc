"""Calls on executors: order of completion, workers that die, Ctrl-C, and executors that take no calls."""

import os
import signal
import threading
import time
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from trajopt.base.errors import ClusterError, OptionError, WorkerDiedError
from trajopt.studies.workers.calls import Call, interrupts_deferred, outcomes_of
from trajopt.studies.workers.workers import Workers, opened


def single(call):
    """The chain of one call."""
    yield call


class Scripted(Executor):
    """An executor that does what it is told with the n-th call it is given."""

    def __init__(self, *script):
        self.script, self.given = list(script), []

    def submit(self, fn, /, *args, **kwargs):
        self.given.append(args[0])
        future, deed = Future(), self.script.pop(0) if self.script else "solve"
        if deed == "die":
            future.set_exception(BrokenExecutor("dead"))
        elif deed == "lose":
            future.cancel()
            future.set_running_or_notify_cancel()
        elif deed == "solve":
            future.set_result(fn(*args))
        return future  # "hang": never done


def square(x):
    return x * x


def calls(*numbers):
    return (single(Call(number, square, (number,))) for number in numbers)


def test_a_call_that_a_worker_took_along_is_made_again_and_no_other_is():
    executor = Scripted("die", "solve", "die", "solve")
    found = {outcome.call.key: outcome for outcome in outcomes_of(calls(1, 2, 3), Workers(executor, 1))}
    assert {key: outcome.value for key, outcome in found.items()} == {1: 1, 2: 4, 3: 9}
    assert sorted(executor.given) == [1, 1, 2, 3, 3] and [found[key].tries for key in (1, 2, 3)] == [2, 1, 2]


def test_a_call_that_kills_every_worker_is_an_error_and_the_others_are_not():
    found = list(outcomes_of(calls(1), Workers(Scripted("die", "die", "die"), 1)))
    assert isinstance(found[0].error, WorkerDiedError) and found[0].tries == 3
    assert "the worker that solved it died 3 times" in str(found[0].error)


def test_what_a_call_raises_is_its_outcome_and_is_not_tried_again():
    executor = Scripted()
    (found,) = outcomes_of([single(Call("a", square, ("text",)))], Workers(ThreadPoolExecutor(1), 1))
    assert isinstance(found.error, TypeError) and found.tries == 1
    assert not executor.given


def test_a_lost_connection_ends_the_study():
    with pytest.raises(ClusterError, match="the connection to the workers was lost: start them anew"):
        list(outcomes_of(calls(1, 2), Workers(Scripted("lose", "hang"), 1)))


def test_a_chain_is_told_what_became_of_its_calls():
    def chain():
        first = yield Call("first", square, (3,))
        yield Call("second", square, (first.value,))

    with ThreadPoolExecutor(2) as executor:
        found = list(outcomes_of([chain()], Workers(executor, 2)))
    assert [outcome.value for outcome in found] == [9, 81]


def test_no_more_calls_are_handed_over_than_keep_the_workers_busy(monkeypatch):
    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr("trajopt.studies.workers.calls._Running.next_done", interrupted)
    executor = Scripted(*["hang"] * 100)
    outcomes = outcomes_of(calls(*range(100)), Workers(executor, 2))
    with pytest.raises(KeyboardInterrupt):
        next(outcomes)
    assert len(executor.given) == 6


def test_ctrl_c_keeps_the_outcomes_that_were_there():
    outcomes = outcomes_of(calls(1, 2, 3), Workers(Scripted("solve", "solve", "hang"), 1))
    next(outcomes)
    kept = [outcomes.throw(KeyboardInterrupt())]
    with pytest.raises(KeyboardInterrupt):
        kept.append(next(outcomes))
    assert len(kept) == 1 and kept[0].value in (1, 4)


def test_ctrl_c_waits_for_a_block_that_must_not_be_cut():
    done = []

    def cut():
        with interrupts_deferred():
            signal.raise_signal(signal.SIGINT)
            done.append("all of it")

    with pytest.raises(KeyboardInterrupt):
        cut()
    assert done and signal.getsignal(signal.SIGINT) is signal.default_int_handler


def die_once(path):
    if not Path(path).exists():
        Path(path).touch()
        os._exit(1)
    return "alive"


def wait_long(path):
    Path(path).touch()
    time.sleep(3600.0)


@pytest.mark.faults
@pytest.mark.long
def test_a_pool_that_a_dead_process_broke_is_replaced(tmp_path, forked_workers):
    keys = [str(tmp_path / f"{i}") for i in range(2)]

    def outcomes_from(pool):
        with opened(pool, None) as workers:
            return list(outcomes_of((single(Call(key, die_once, (key,))) for key in keys), workers, tries=9))

    told = "a process of the executor died, which breaks it as a whole: 1"
    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
        pytest.warns(UserWarning, match=told),
    ):
        outcomes = outcomes_from(pool)
    found = {outcome.call.key: outcome.value for outcome in outcomes}
    assert found == dict.fromkeys(keys, "alive")


@pytest.mark.long
@pytest.mark.faults
def test_own_processes_end_at_once(tmp_path, forked_workers):
    path = tmp_path / "begun"
    with opened(None, 2) as workers:
        outcomes = outcomes_of([single(Call(i, wait_long, (str(path),))) for i in range(2)], workers)

        def interrupt():
            while not path.exists():
                time.sleep(0.05)
            signal.raise_signal(signal.SIGINT)

        threading.Thread(target=interrupt).start()
        with pytest.raises(KeyboardInterrupt):
            next(outcomes)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((5, None), OptionError, "executor is 5: give an executor of concurrent.futures, a distributed.Cl"),
        ((None, 0), OptionError, "processes = 0: expected a whole number, 1 or more"),
        ((ThreadPoolExecutor(1), 2), OptionError, "processes and executor are both given"),
    ],
)
def test_what_is_no_place_for_calls_is_refused(arguments, error, message):
    with pytest.raises(error, match=message), opened(*arguments):
        pass


def test_an_executor_that_is_shut_down_is_named():
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    with pytest.raises(OptionError, match="the executor takes no calls"):
        list(outcomes_of(calls(1), Workers(executor, 1)))
