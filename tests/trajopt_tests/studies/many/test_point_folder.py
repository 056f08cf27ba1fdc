"""A folder of points is resumed only where problem, code, parameters and solutions are those of its rows."""

import importlib
import shutil
import sys
from functools import partial

import pytest
from tiers import fast_first

import problems
import trajopt
from trajopt.base.errors import ResultFolderError, SolutionFileError
from trajopt.studies.many import point as point_table
from trajopt.studies.many.provenance import code_of_file, code_of_names

BUILD = """
import problems

def build(mass=1.0):
    from study_parts.masses import scaled
    return problems.double_integrator.build(mass=scaled(mass))
"""
OTHER_CODE = r"row 0 of table\.csv has other parameters, .* or the code of its problem has changed"


@pytest.fixture
def study_code(tmp_path, monkeypatch):
    """A folder with the module `study_code`, whose function imports a module of a package of the user's."""
    folder = tmp_path / "code"
    (folder / "study_parts").mkdir(parents=True)
    (folder / "study_parts" / "__init__.py").touch()
    (folder / "study_parts" / "masses.py").write_text(
        "from .factor import FACTOR\n\ndef scaled(mass):\n    return FACTOR * mass\n"
    )
    (folder / "study_parts" / "factor.py").write_text("FACTOR = 1.0\n")
    (folder / "study_code.py").write_text(BUILD)
    monkeypatch.syspath_prepend(str(folder))
    yield folder
    forget()


def forget():
    """As in a new process: modules are read from their files again."""
    for name in ("study_code", "study_parts", "study_parts.masses", "study_parts.factor"):
        sys.modules.pop(name, None)
    importlib.invalidate_caches()


def swept(folder):
    forget()
    build = importlib.import_module("study_code").build
    return trajopt.sweep(build, {"mass": [1.0, 4.0]}, processes=1, folder=folder)


@pytest.mark.long
@pytest.mark.parametrize(
    "changed",
    [
        "study_code.py",
        "study_parts/masses.py",
        "study_parts/factor.py",  # imported by the second, which the first imports
    ],
)
def test_a_sweep_does_not_resume_after_code_of_its_problem_has_changed(study_code, tmp_path, changed):
    first = swept(tmp_path / "results")
    assert [point.duration for point in first.points] == pytest.approx([2.0, 4.0], rel=1e-6)
    assert [point.seconds for point in swept(tmp_path / "results").points] == [
        p.seconds for p in first.points
    ]
    with (study_code / changed).open("a") as stream:
        stream.write("\nFACTOR = 4.0\n")
    with pytest.raises(ResultFolderError, match=OTHER_CODE):
        swept(tmp_path / "results")


READS = """
import importlib
import os
import pathlib
import problems

HERE = pathlib.Path(__file__).parent

def build(mass=1.0):
    factor = float((HERE / "factor.txt").read_text())
    factor *= float(os.environ.get("STUDY_FACTOR", "1")) * importlib.import_module("study_" + "late").FACTOR
    if (HERE / "missing.txt").exists() and factor == 0.0:
        return None
    return problems.double_integrator.build(mass=factor * mass, intervals=2)
"""


@pytest.mark.long
@pytest.mark.parametrize("changed", ["file", "variable", "module of a computed name"])
def test_points_are_solved_again_where_what_their_build_reads_has_changed(tmp_path, monkeypatch, changed):
    code, folder = tmp_path / "code", tmp_path / "results"
    code.mkdir()
    (code / "factor.txt").write_text("1.0")
    (code / "study_late.py").write_text("FACTOR = 1.0\n")
    (code / "study_reads.py").write_text(READS)
    monkeypatch.syspath_prepend(str(code))
    monkeypatch.delenv("STUDY_FACTOR", raising=False)

    def durations():
        for name in ("study_reads", "study_late"):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        build = importlib.import_module("study_reads").build
        study = trajopt.sweep(build, {"mass": [1.0]}, processes=1, folder=folder, refine=None)
        return study.recalled, study.points[0].duration

    assert durations() == (0, pytest.approx(2.0, rel=1e-6))
    if changed == "file":
        (code / "factor.txt").write_text("4.0")
    elif changed == "variable":
        monkeypatch.setenv("STUDY_FACTOR", "4")
    else:
        (code / "study_late.py").write_text("FACTOR = 4.0 # longer\n")
    assert durations() == (0, pytest.approx(4.0, rel=1e-6))
    assert durations() == (1, pytest.approx(4.0, rel=1e-6))


def test_a_file_of_a_users_is_not_overwritten_by_a_point(tmp_path):
    (tmp_path / "0000.npz").write_bytes(b"mine")
    with pytest.raises(ResultFolderError, match=r"holds 0000\.npz and no table\.csv"):
        trajopt.sweep(problems.double_integrator.build, {"mass": [1.0]}, processes=1, folder=tmp_path)
    assert (tmp_path / "0000.npz").read_bytes() == b"mine"


def test_a_list_of_problems_is_not_resumed_after_the_code_of_a_term_has_changed(study_code, tmp_path):
    source = partial(problems.double_integrator.build, mass=1.0)
    term = "import trajopt\n\ndef mine():\n    return trajopt.v\n"
    (study_code / "study_code.py").write_text(f"{term}\ndef built(build):\n    return build()\n")

    def solve():
        forget()
        built = importlib.import_module("study_code").built
        return trajopt.solve_many([partial(built, source)], processes=1, folder=tmp_path / "results")

    solve()
    (study_code / "study_code.py").write_text(f"{term}\ndef built(build):\n    return  build()\n")
    with pytest.raises(ResultFolderError, match=OTHER_CODE):
        solve()


def test_digests_of_code_leave_installed_packages_out(tmp_path):
    nothing = code_of_names([])
    assert code_of_names(["numpy", "json", "trajopt.solve", "no such module", "study_no_module"]) == nothing
    assert code_of_names(["problems.kirk"]) != nothing
    (tmp_path / "own.py").write_text("import numpy, study_beside")
    assert code_of_file(tmp_path / "own.py") == nothing
    (tmp_path / "study_beside.py").write_text("import own\nthis is no Python")
    assert code_of_file(tmp_path / "own.py") != nothing


def test_digests_of_code_cover_what_is_executed_and_what_a_package_gives_out_by_name(tmp_path):
    package = tmp_path / "study_lazy"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from study_lazy import other as other\n"
    )
    (package / "used.py").write_text("LENGTH = 1.0\n")
    digests = {}
    for text in ("from study_lazy import used", "import study_lazy.used", "import study_lazy"):
        (tmp_path / "own.py").write_text(text)
        (package / "other.py").write_text("MASS = 1.0\n")
        before = code_of_file(tmp_path / "own.py")
        (package / "other.py").write_text("MASS = 2.0\n")
        digests[text] = before == code_of_file(tmp_path / "own.py")
    assert list(digests.values()) == [True, True, False]


@pytest.mark.parametrize(
    "text",
    [
        "from typing import TYPE_CHECKING\nif not TYPE_CHECKING:\n    import study_beside",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    pass\nelse:\n    import study_beside",
        "def build():\n    import profile",  # the name of a module of the standard library
    ],
)
def test_digests_of_code_cover_branches_that_run_and_files_with_names_of_the_standard_library(tmp_path, text):
    (tmp_path / "own.py").write_text(text)
    before = code_of_file(tmp_path / "own.py")
    for name in ("study_beside", "profile"):
        (tmp_path / f"{name}.py").write_text("MASS = 2.0\n")
    assert code_of_file(tmp_path / "own.py") != before


@pytest.mark.long
def test_a_solution_that_was_swapped_for_another_is_not_taken_for_that_of_its_row(tmp_path):
    build, axes = problems.double_integrator.build, {"mass": [1.0, 4.0]}
    study = trajopt.sweep(build, axes, processes=1, folder=tmp_path)
    shutil.copy(tmp_path / "0001.npz", tmp_path / "0000.npz")
    message = r"0000\.npz is not the solution that row 0 of table\.csv describes"
    with pytest.raises(SolutionFileError, match=message):
        _ = study.points[0].solution
    with pytest.raises(SolutionFileError, match=message):
        trajopt.sweep(build, axes, processes=1, folder=tmp_path)
    (tmp_path / "0000.npz").unlink()
    again = trajopt.sweep(build, axes, processes=1, folder=tmp_path)
    assert [solution.duration for solution in again.solutions] == pytest.approx([2.0, 4.0], rel=1e-6)


@fast_first(("column", "forged"), [("duration", "1.5"), ("converged", "False"), ("objective", "")])
def test_a_row_that_was_edited_is_not_believed(tmp_path, column, forged):
    build = problems.double_integrator.build
    trajopt.sweep(build, {"mass": [1.0]}, processes=1, folder=tmp_path)
    (row,) = point_table.read_rows(tmp_path / "table.csv")
    point_table.rewrite(tmp_path / "table.csv", [row | {column: forged}])
    with pytest.raises(ResultFolderError, match=rf"row 0 of .*table\.csv was changed: {column} is"):
        trajopt.sweep(build, {"mass": [1.0]}, processes=1, folder=tmp_path)
    assert trajopt.sweep(build, {"mass": [1.0]}, processes=1, folder=tmp_path, anew=True).converged_count == 1
