"""Modules that pages named before they moved: the old paths work, and warn with the path to write."""

import subprocess
import sys
from importlib import import_module

import pytest

import trajopt
from problems import catalogue
from problems.gallery import FORMER as FORMER_OF_GALLERY
from problems.human import FORMER as FORMER_OF_HUMAN
from trajopt.former_paths import FORMER, ROOMS

TABLES = (FORMER, FORMER_OF_GALLERY, FORMER_OF_HUMAN, ROOMS)


@pytest.mark.parametrize(("former", "homes"), [entry for table in TABLES for entry in table.items()])
def test_every_former_module_forwards_to_modules_that_exist(former, homes):
    for home in homes:
        module = import_module(home)
        name = next(
            name
            for name, value in vars(module).items()
            if getattr(value, "__module__", None) == home and not name.startswith("_")
        )
        if name not in home.split("."):  # such as transcription.transcribe, a module now
            with pytest.warns(DeprecationWarning, match=rf"{former}\.{name} has moved: write (trajopt|prob)"):
                assert getattr(import_module(former), name) is getattr(module, name)


@pytest.mark.parametrize(
    ("former", "name"),
    [
        ("trajopt.expression", "trace"),
        ("trajopt.use", "Neighbours"),
        ("trajopt.terms", "ExpressionTerm"),
        ("trajopt.block", "Dynamics"),
        ("trajopt.solution", "Solution"),
        ("trajopt.problem", "Problem"),
        ("trajopt.trajectory", "Trajectory"),
        ("trajopt.certified", "Certified"),
    ],
)
def test_the_warning_names_the_public_name(former, name):
    with pytest.warns(DeprecationWarning, match=f"{former}.{name} has moved: write trajopt.{name}$"):
        assert getattr(import_module(former), name) is getattr(trajopt, name)


def test_every_problem_of_the_gallery_is_found_where_it_was_and_told_by_its_public_name():
    gallery = {name for name in catalogue.names() if catalogue.path(name).parents[1].name == "gallery"}
    assert {former.rpartition(".")[2] for former in FORMER_OF_GALLERY} == gallery
    for name in gallery:
        told = rf"problems\.gallery\.{name}\.build has moved: write problems\.{name}\.build$"
        with pytest.warns(DeprecationWarning, match=told):
            assert import_module(f"problems.gallery.{name}").build is catalogue.module(name).build


def test_what_a_former_module_never_had_is_an_attribute_error():
    for former in ("trajopt.expression", "trajopt.problem"):
        with pytest.raises(AttributeError, match="no_such_thing"):
            _ = import_module(former).no_such_thing


def test_a_script_of_before_runs_and_is_told_at_its_own_line(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from trajopt.expression import trace\nimport trajopt.problem\nprint(trajopt.problem.Problem)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "always", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "<class 'trajopt.problem.problem.Problem'>\n"
    assert "script.py:1: DeprecationWarning: trajopt.expression.trace has moved: write trajopt.trace" in (
        done.stderr
    )
    assert "script.py:3: DeprecationWarning: trajopt.problem.Problem has moved: write trajopt.Problem" in (
        done.stderr
    )
