"""Files that a stranger made: each is refused with a SolutionFileError, and nothing too large is unpacked."""

import io
import json
import tracemalloc
import zipfile

import numpy as np
import pytest
from hand_written import PointMasses, two_link_minimum_time  # pyright: ignore
from tiers import fast_first

import trajopt
from trajopt.base.errors import OptionError, SolutionFileError
from trajopt.base.files import LARGEST
from trajopt.solvers.wrappers.checkpoint import read

NAN = float("nan")


@pytest.fixture(scope="module")
def problem():
    return two_link_minimum_time(6)


@pytest.fixture(scope="module")
def saved(problem, tmp_path_factory):
    """The arrays of a certified solution, parts of every kind among them, and its header."""
    path = tmp_path_factory.mktemp("saved") / "x.npz"
    trajopt.solve(problem, refine=trajopt.Certified(tol=1e-3), starts=2).save(path)
    with np.load(path) as file:
        arrays = dict(file)
    return arrays, json.loads(str(arrays["header"]))


def saved_arm():
    return two_link_minimum_time(6).dynamics


def nested(depth):
    return "[" * depth + "]" * depth


HEADERS = {
    "not an object": "[1, 2]",
    "no JSON": "{",
    "too deep": '{"format": ' + nested(100_000) + "}",
    "a number of 400 digits": {"objective": 10**400},
    "a name for a number": {"objective": "low"},
    "a number for a name": {"name": 5},
    "a name for a list": {"joint_names": "shoulder"},
    "nothing for a list": {"multipliers": None},
    "no such status": {"status": "SPLENDID"},
    "status as number": {"status": 1},
    "an endless degree": {"degrees": [10**9]},
    "a negative degree": {"degrees": [-3]},
    "a fractional degree": {"degrees": [3.5]},
    "no arcs": {"degrees": []},
    "two arcs for one": {"degrees": [3, 3]},
    "a thousand joints": {"joint_names": ["j"] * 1000},
    "kkt without parts": {"kkt": {}},
    "kkt of words": {"kkt": "small"},
    "a truth for a number": {"iterations": True},
    "added nodes of arcs that are not there": {"extra_points": 10**9},
    "negative counts": {"extra_points": -1},
    "a recipe without parameters": {"recipe": {"problem": "two_link_rr"}},
    "a recipe that is a path": {"recipe": "folder/x.py"},
    "certificate without keys": {"certificate": {"tolerance": 1e-6}},
    "certificate of a list": {"certificate": [1, 2]},
    "levels of numbers": {"journal": None, "levels": [1, 2]},
    "starts without a table": {"journal": None, "starts": {"chosen": 0}},
    "rows of numbers": {"journal": {"rows": [1, 2]}},
    "refinement without rounds": {"journal": {"refinement": {"tolerance": 1e-6}}},
    "version as a word": {"version": "one"},
    "version of a list": {"version": [1]},
    "format of a list": {"format": []},
    "format missing": {"format": None},
}
ARRAYS = {
    "control points that are not finite": ("control_points_0", np.full((9, 2), NAN)),
    "control points of one dimension": ("control_points_0", np.zeros(9)),
    "control points of too many rows": ("control_points_0", np.zeros((90, 2))),
    "complex control points": ("control_points_0", np.zeros((9, 2), complex)),
    "control points of text": ("control_points_0", np.array([["a", "b"]] * 9)),
    "no control points": ("control_points_0", np.zeros((0, 2))),
    "dates": ("durations", np.array(["2020-01-01"], "datetime64[D]")),
    "a negative duration": ("durations", np.array([-1.0])),
    "an infinite duration": ("durations", np.array([np.inf])),
    "durations of two arcs": ("durations", np.ones(2)),
    "breakpoints that fall": ("breakpoints_0", np.linspace(1.0, 0.0, 7)),
    "breakpoints that are not finite": ("breakpoints_0", np.full(7, NAN)),
    "multiplicities that are fractions": ("multiplicities_0", np.full(5, 0.5)),
    "multiplicities without end": ("multiplicities_0", np.full(5, 10**12)),
    "records": ("history", np.zeros(3, [("a", float)])),
    "nodes in disorder": ("node_times", np.array([0.3, 0.1])),
    "nodes outside": ("node_times", np.array([0.0, 1e9])),
    "no nodes": ("node_times", np.zeros(0)),
    "more nodes than any rule has": ("node_times", np.zeros(10**6)),
    "a point that is not finite": ("point_y", np.full(3, NAN)),
    "objects": ("q", np.array([{"a": 1}], dtype=object)),
    "samples of another shape": ("q", np.zeros((3, 3))),
    "a header of bytes": ("header", np.array(b"{}")),
    "a header of numbers": ("header", np.zeros(3)),
    "a header of numbers that are no characters": (
        "header",
        np.frombuffer(np.array([0x110001] * 9, np.uint32).tobytes(), "<U9").reshape(()),
    ),
}


def refused(path):
    with pytest.raises(SolutionFileError) as caught:
        trajopt.Solution.load(path)
    told = str(caught.value)
    assert str(path) in told and len(told) < 600 and "allow_pickle" not in told
    return told


@pytest.mark.parametrize("name", HEADERS)
def test_headers_that_do_not_hold_what_they_should(saved, tmp_path, name):
    arrays, header = saved
    change = HEADERS[name]
    text = change if isinstance(change, str) else json.dumps(header | change)
    np.savez(tmp_path / "x.npz", **(arrays | {"header": np.array(text)}))
    refused(tmp_path / "x.npz")


@pytest.mark.parametrize("missing", ["name", "recipe", "degrees", "kkt", "status", "has_point"])
def test_headers_without_a_key_name_it(saved, tmp_path, missing):
    arrays, header = saved
    shorter = {key: value for key, value in header.items() if key != missing}
    np.savez(tmp_path / "x.npz", **(arrays | {"header": np.array(json.dumps(shorter))}))
    assert missing in refused(tmp_path / "x.npz")


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_that_are_not_what_the_header_tells(saved, tmp_path, name):
    member, array = ARRAYS[name]
    np.savez(tmp_path / "x.npz", **(saved[0] | {member: array}))
    assert member.split("_")[0] in refused(tmp_path / "x.npz")


@pytest.mark.long
def test_every_array_but_the_samples_and_former_additions_is_needed(saved, tmp_path):
    """Samples are there for other readers; files of former versions lack scaling and earlier solves."""
    arrays, _ = saved
    for member in arrays:
        np.savez(tmp_path / "x.npz", **{name: array for name, array in arrays.items() if name != member})
        if member in ("t", "q", "v", "a", "scaling_rows", "solves"):
            assert trajopt.Solution.load(tmp_path / "x.npz").converged
        else:
            assert member in refused(tmp_path / "x.npz")


@pytest.mark.long
def test_every_cut_and_many_changed_bytes_are_refused_or_change_nothing(saved, tmp_path):
    arrays, _ = saved
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    content, path, rng = stream.getvalue(), tmp_path / "x.npz", np.random.default_rng(0)
    for length in np.linspace(0, len(content) - 1, 40).astype(int):
        path.write_bytes(content[:length])
        refused(path)
    for _ in range(200):
        changed = bytearray(content)
        for place in rng.integers(len(content), size=rng.integers(1, 4)):
            changed[place] ^= 1 << rng.integers(8)
        path.write_bytes(changed)
        try:
            loaded = trajopt.Solution.load(path)
        except SolutionFileError:
            continue
        assert np.array_equal(loaded.curve.control_points[0], arrays["control_points_0"])


@pytest.mark.long
def test_what_unpacks_to_gigabytes_is_refused_before_it_is_unpacked(saved, tmp_path):
    """Three megabytes of zeros, packed; the directory of the archive tells the size, or the array's shape."""
    arrays, path = saved[0], tmp_path / "x.npz"
    np.savez_compressed(path, **{name: array for name, array in arrays.items() if name != "control_points_0"})
    head = io.BytesIO()
    rows = 3 * 10**9 // 16
    np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": (rows, 2)})
    with (
        zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive,
        archive.open("control_points_0.npy", "w", force_zip64=True) as stream,
    ):
        stream.write(head.getvalue())
        for _ in range(300):
            stream.write(bytes(10**6))
    tracemalloc.start()
    refused(path)
    assert tracemalloc.get_traced_memory()[1] < 20e6
    tracemalloc.stop()
    assert LARGEST < 300e6


def test_a_shape_of_truth_values_is_refused(saved, tmp_path):
    """NumPy's parser takes True for a whole number, and reshaping by it then fails."""
    arrays, path = saved[0], tmp_path / "x.npz"
    np.savez(path, **{name: array for name, array in arrays.items() if name != "t"})
    head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (True,), }".ljust(117) + b"\n"
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("t.npy", b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + head + bytes(8))
    refused(path)


def test_rows_at_inner_knots_are_compared_with_both_sides(tmp_path):
    """The acceleration of this motion jumps at every second: either side is right, a value between is not."""
    problem = trajopt.Problem(PointMasses(1, 1.0), trajopt.Trajectory.uniform(6, 2, duration=6.0))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.minimize(trajopt.a**2)
    trajopt.solve(problem, refine=None).save(tmp_path / "x.npz")
    arrays = dict(np.load(tmp_path / "x.npz"))
    at = np.flatnonzero(np.isclose(arrays["t"] % 1.0, 0.0, atol=1e-12))[1]
    before, behind = arrays["a"][at - 1, 0], arrays["a"][at + 1, 0]
    assert abs(before - behind) > 1e-3
    for claimed, is_altered in ((before, False), (behind, False), (0.5 * (before + behind), True)):
        arrays["a"][at] = claimed
        np.savez(tmp_path / "y.npz", **arrays)
        assert bool(trajopt.Solution.load(tmp_path / "y.npz", problem).altered) is is_altered


@pytest.mark.long
def test_bytes_that_become_floats_count_as_floats(saved, tmp_path):
    """Eight times as many in memory as in the file."""
    np.savez_compressed(
        tmp_path / "x.npz", **(saved[0] | {"history": np.zeros((LARGEST // 20, 3), np.uint8)})
    )
    assert "history unpacks to 3.22e+08 bytes" in refused(tmp_path / "x.npz")


@pytest.mark.long
def test_many_samples_of_a_fine_mesh_are_compared_without_a_table_of_both(saved, tmp_path):
    """100,000 samples and 2,000 knots: a table of them would take 1.6 GB."""
    trajectory = trajopt.Trajectory.uniform(2000, duration=1.0)
    problem = trajopt.Problem(saved_arm(), trajectory)
    problem.start_at(q=[0.0, 0.0], v=0.0)
    problem.end_at(q=[0.1, 0.1], v=0.0)
    problem.minimize(trajopt.a**2)
    solution = trajopt.solve(problem, trajopt.Ipopt(max_iterations=1), coarse_to_fine=False)
    solution.save(tmp_path / "x.npz")
    with np.load(tmp_path / "x.npz") as file:
        arrays = dict(file)
    t = np.linspace(0.0, 1.0, 100_000)
    samples = {"t": t, "q": solution.q(t), "v": solution.v(t), "a": solution.a(t)}
    np.savez(tmp_path / "x.npz", **(arrays | samples))  # pyright: ignore
    tracemalloc.start()
    loaded = trajopt.Solution.load(tmp_path / "x.npz", problem=problem)
    assert tracemalloc.get_traced_memory()[1] < 100e6 and loaded.altered == ()
    tracemalloc.stop()


def test_names_that_are_not_known_are_never_unpacked(saved, tmp_path):
    np.savez(tmp_path / "x.npz", **saved[0], stranger=np.array([{"a": 1}], dtype=object))
    assert trajopt.Solution.load(tmp_path / "x.npz").converged


def test_one_name_twice_is_refused(saved, tmp_path):
    np.savez(tmp_path / "x.npz", **saved[0])
    with zipfile.ZipFile(tmp_path / "x.npz", "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("durations.npy", b"")
    refused(tmp_path / "x.npz")


def test_paths_that_name_no_file(tmp_path):
    for path in (None, 5, "", " ", "a\0b", ["x.npz"], b"x.npz"):
        with pytest.raises(OptionError, match="give the name of a file"):
            trajopt.Solution.load(path)  # pyright: ignore
    with pytest.raises(SolutionFileError, match="a folder or a device"):
        trajopt.Solution.load(tmp_path)


@fast_first(
    ("member", "array"),
    [
        ("y", np.zeros(2)),
        ("start", np.array([1j])),
        ("values", np.array([{"a": 1}], dtype=object)),
        ("header", np.array("[]")),
        ("y", np.full(9, NAN)),
        ("y", np.zeros((3, 3))),
        ("y", np.array("nothing")),
        ("start", np.zeros(1)),
        ("bounds", np.zeros((2, 2))),
        ("bounds", np.zeros(0)),
        ("values", np.array(["1"])),
        ("header", np.array('{"format": 5}')),
        ("header", np.zeros(2)),
    ],
    2,
)
def test_checkpoints_that_are_not_what_they_should_be(problem, tmp_path, member, array):
    path = tmp_path / "solve.ckpt"
    trajopt.solve(problem, trajopt.Checkpointed(trajopt.Ipopt(), path))
    with np.load(path) as file:
        arrays = dict(file)
    nlp = trajopt.transcribe(problem)
    assert read(path, nlp).size == nlp.variable_count
    for changed in (arrays | {member: array}, {name: a for name, a in arrays.items() if name != member}):
        with path.open("wb") as stream:
            np.savez(stream, **changed)
        with pytest.raises(SolutionFileError, match=str(path)):
            read(path, nlp)


def test_a_degree_that_no_basis_can_have_is_refused_with_the_arc(saved, tmp_path):
    arrays, header = saved
    points = np.zeros((31, arrays["control_points_0"].shape[1]))
    changed = arrays | {
        "header": np.array(json.dumps(header | {"degrees": [30] * len(header["degrees"])})),
        "control_points_0": points,
    }
    np.savez(tmp_path / "x.npz", **changed)
    assert "arc 0" in refused(tmp_path / "x.npz")


def test_a_name_that_is_nearly_right_gets_the_near_match(problem, tmp_path):
    solution = trajopt.solve(problem)
    solution.save(tmp_path / "arm.npz")
    for wrong in ("arm.npy", "am.npz"):
        with pytest.raises(SolutionFileError, match=r"does not exist \(did you mean '.*arm\.npz'"):
            trajopt.Solution.load(tmp_path / wrong)
    with pytest.raises(OptionError, match=r"ends in \.npz \(did you mean arm\.npz"):
        solution.save(tmp_path / "arm.nz")
    with pytest.raises(OptionError, match=r"ends in \.csv \(did you mean arm\.csv"):
        solution.to_csv(tmp_path / "arm.cvs")
    assert [each.name for each in tmp_path.iterdir()] == ["arm.npz"]
    solution.save(tmp_path / "arm")  # other names are as wished
