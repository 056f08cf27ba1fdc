"""A Dask cluster on this machine: versions, workers that are killed, and clusters that cannot be used."""

import os
import random
import signal
import socket
import sys
import threading
import time
from collections import Counter
from functools import partial

import pytest

import problems
import trajopt
from trajopt.base.errors import ClusterError, OptionError
from trajopt.studies.many import provenance
from trajopt.studies.many.point import read_rows
from trajopt.studies.workers import cluster

pytestmark = pytest.mark.faults

# On a busy machine a killed worker is back late, and a cluster gives up one that is away for 15 s. Workers
# take these settings from this process, whatever their environment says.
PATIENCE = 3600.0  # seconds
PATIENT = {
    f"distributed.{name}": f"{PATIENCE:.0f}s"
    for name in ("deploy.lost-worker-timeout", "comm.timeouts.connect", "comm.timeouts.tcp")
}
#: Of a point, for each of which a worker starts: 3 by default
ONE_FAILURE = {"distributed.scheduler.allowed-failures": 1}
QUIET = {"silence_logs": "CRITICAL", "dashboard_address": ":0"}


@pytest.fixture(scope="module")
def distributed():
    """Imported by the first test that needs it, which takes a second."""
    return pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def local_cluster(distributed):
    import dask

    with (
        dask.config.set(PATIENT | ONE_FAILURE),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **QUIET) as found,
    ):
        yield found


@pytest.fixture
def patient(monkeypatch):
    """Neither a scheduler that answers late nor workers that are away for long end a study."""
    monkeypatch.setattr(cluster, "TIMEOUT", PATIENCE)
    monkeypatch.setattr(cluster, "LONGEST_ABSENCE", PATIENCE)


@pytest.fixture
def address(distributed, local_cluster, patient):
    with distributed.Client(local_cluster, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=PATIENCE)
    return local_cluster.scheduler_address


def build(mass=1.0, place="", deaths=0):
    """A problem that notes every time it is built by a worker, and kills the first ones of them."""
    if place:
        with open(place, "a") as file:
            file.write(f"{mass:g}\n")
        with open(place) as file:
            built = Counter(file.read().split())[f"{mass:g}"]
        if built <= deaths:
            os._exit(9)
    return problems.double_integrator.build(mass=mass, intervals=4)


@pytest.mark.long
def test_a_list_of_problems_comes_back_in_its_order(address):
    masses, order = [4.0, 1.0, 2.0, 3.0], []
    study = trajopt.solve_many(
        [problems.double_integrator.build(mass=mass) for mass in masses],
        executor=address,
        progress=lambda done: order.append(done.point.number),
    )
    assert [point.duration for point in study.points] == pytest.approx([2 * mass**0.5 for mass in masses])
    assert sorted(order) == [0, 1, 2, 3]
    assert study.solutions[0].problem.dynamics.joint_names == study.solutions[0].joint_names


@pytest.mark.long
def test_a_client_and_its_executor_will_do_and_stay_open(distributed, address):
    with distributed.Client(address, set_as_default=False) as client:
        for executor in (client, client.get_executor()):
            front = trajopt.multistart(partial(build, 2.0), starts=2, executor=executor)
            assert all(start.converged for start in front.starts)
        assert client.submit(int, "3").result() == 3


@pytest.mark.long
def test_a_sweep_on_a_cluster_is_resumed(address, tmp_path):
    axes = {"mass": [1.0, 2.0, 3.0]}
    first = trajopt.sweep(build, {"mass": [1.0]}, executor=address, folder=tmp_path)
    assert first.converged_count == 1
    seen = []
    study = trajopt.sweep(build, axes, executor=address, folder=tmp_path, progress=seen.append)
    assert study.converged_count == 3 and sorted(done.point.number for done in seen) == [1, 2]
    assert [done.done for done in seen] == [2, 3]


@pytest.mark.long
def test_a_point_whose_worker_dies_is_solved_by_another(address, tmp_path):
    place = str(tmp_path / "built")
    study = trajopt.solve_many([partial(build, 1.0, place, 1), partial(build, 2.0)], executor=address)
    assert study.converged_count == 2
    assert (tmp_path / "built").read_text().split().count("1") > 1


@pytest.mark.long
def test_a_point_that_kills_every_worker_is_an_error_in_its_row(address, tmp_path):
    place = str(tmp_path / "built")
    study = trajopt.solve_many([partial(build, 1.0, place, 99), partial(build, 2.0)], executor=address)
    assert [point.converged for point in study.points] == [False, True]
    assert study.points[0].error.startswith("WorkerDiedError: the worker that solved it died 2 times")


def kill_at_random(workers, kills, chance, ended, killed):
    """Kill one of the processes that `workers()` lists, `kills` times, until `ended` is set."""
    while len(killed) < kills and not ended.wait(chance.uniform(0.5, 1.5)):
        alive = [nanny.pid for nanny in list(workers().values()) if nanny.pid is not None]
        if alive:
            os.kill(chance.choice(alive), signal.SIGKILL)
            killed.append(time.monotonic())


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_workers_that_are_killed_at_random_cost_nothing(distributed, tmp_path, monkeypatch):
    import dask

    # Dask may fail to replace a worker that dies while it starts: the same sweep then goes on with another
    # cluster.
    monkeypatch.setattr(cluster, "LONGEST_ABSENCE", 60.0)
    count, kills, place = 60, 5, tmp_path / "built"
    chance, killed, clusters = random.Random(15), [], 0
    axes = {"mass": [1.0 + number for number in range(count)], "place": [str(place)]}
    study = None
    while study is None:
        clusters += 1
        with (
            dask.config.set(PATIENT),
            distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **QUIET) as found,
        ):
            ended = threading.Event()
            arguments = (lambda found=found: found.workers, kills, chance, ended, killed)
            killer = threading.Thread(target=kill_at_random, args=arguments)
            killer.start()
            try:
                where = found.scheduler_address
                study = trajopt.sweep(build, axes, warm=False, executor=where, folder=tmp_path / "out")
            except ClusterError:
                assert clusters < 10
            finally:
                ended.set()
                killer.join()
    assert killed and study.converged_count == count
    rows = read_rows(tmp_path / "out" / "table.csv")
    assert [int(row["number"]) for row in rows] == list(range(count)), "nothing lost, nothing twice"
    # Beyond the parent's first look at the first point, what a worker held when it died was built again.
    built = Counter(place.read_text().split())
    assert len(built) == count and sum(built.values()) <= count + clusters + 4 * (len(killed) + clusters)


@pytest.mark.long
def test_a_cluster_that_does_not_answer_is_refused_at_once(distributed, monkeypatch):
    monkeypatch.setattr(cluster, "TIMEOUT", 0.5)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nothing listens there
        where = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ClusterError, match=f"no Dask scheduler answers at '{where}'"):
            trajopt.solve_many([partial(build, 1.0)], executor=where)
    with pytest.raises(ClusterError, match="no Dask scheduler answers at 'no address'"):
        trajopt.solve_many([partial(build, 1.0)], executor="no address")


@pytest.mark.long
@pytest.mark.parametrize("where", ["no address", "weird://here:1"])
def test_a_client_that_cannot_connect_is_closed_at_once(where, distributed, monkeypatch):
    """Collected later, while a loop is started, it would wait for a lock that its own thread holds."""
    closed, close = [], distributed.Client.close
    monkeypatch.setattr(distributed.Client, "close", lambda client: closed.append(client) or close(client))
    with pytest.raises(ClusterError, match="no Dask scheduler answers"):
        cluster.client_at(where)
    assert closed and all(client.status == "closed" for client in closed)


@pytest.mark.long
def test_a_cluster_without_workers_is_refused(distributed, patient):
    with (
        distributed.LocalCluster(n_workers=0, **QUIET) as empty,
        pytest.raises(ClusterError, match="has no workers: start some with `dask worker"),
    ):
        trajopt.solve_many([partial(build, 1.0)], executor=empty.scheduler_address)


@pytest.mark.long
def test_workers_with_other_versions_are_refused_before_anything_is_sent(address, tmp_path, monkeypatch):
    own = provenance.versions() | {"casadi": "3.5.1"}
    monkeypatch.setattr(cluster, "check_same", lambda _, *found: provenance.check_same(own, *found))
    place = tmp_path / "built"
    with pytest.raises(
        ClusterError, match=r"has other software than the process that asks \(casadi .* there, 3.5.1 he"
    ):
        trajopt.solve_many([partial(build, 1.0, str(place))], executor=address)
    assert not place.exists()


@pytest.mark.long
def test_a_worker_without_the_package_is_refused(address, monkeypatch):
    monkeypatch.setattr(cluster, "IS_THERE", cluster.IS_THERE.replace("'trajopt'", "'no_package'"))
    with pytest.raises(ClusterError, match="trajopt cannot be imported on 2 of 2 workers"):
        trajopt.solve_many([partial(build, 1.0)], executor=address)


def test_a_worker_that_joined_later_is_asked_too():
    with pytest.raises(ClusterError, match="a worker has other software than the process that asks"):
        provenance.check_same({"Python": "2.7"}, {"Python": "2.6"}, "a worker")


def test_a_cluster_needs_distributed(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(OptionError, match=r"pip install 'trajopt-splines\[cluster\]'"):
        trajopt.solve_many([partial(build, 1.0)], executor="tcp://127.0.0.1:8786")


class Counted:
    """A client whose cluster has as many workers as it is told, one answer after the other."""

    def __init__(self, *counts):
        self.counts = list(counts)

    def scheduler_info(self, n_workers):
        count = self.counts.pop(0)
        if count is None:
            raise OSError("connection lost")
        return {"workers": dict.fromkeys(range(count))}


def test_a_cluster_that_lost_its_workers_for_five_minutes_ends_the_study():
    clock = iter([0.0, 5.0, 100.0, 200.0, 390.0, 450.0])
    presence = cluster.Presence(Counted(1, 0, None, 1, 1), lambda: next(clock))
    for _ in range(5):  # at 5 s it does not ask; then 1 worker, none, a lost connection, 1 again
        presence.check()
    assert presence._seen == 450.0


def test_nobody_is_waited_for_longer_than_that():
    clock = iter([0.0, 290.0, 310.0])
    presence = cluster.Presence(Counted(0, 0), lambda: next(clock))
    presence.check()
    with pytest.raises(ClusterError, match="has had no workers for 5 minutes: start some and run the same"):
        presence.check()


@pytest.mark.long
def test_every_worker_is_asked_once(address):
    answers = dict(cluster.on_every_worker(address, os.getpid))
    assert len(answers) == len(set(answers.values())) == 2
