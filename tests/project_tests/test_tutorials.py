"""The pages of docs that teach are run as they stand, and do what they say."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def run(page):
    """Execute every Python block of a page in one namespace, as a reader would."""
    text = (DOCS / page).read_text(encoding="utf-8")
    namespace = {}
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(code, page, "exec"), namespace)
    return namespace


def test_the_tutorial_on_terms_does_what_it_says(capsys):
    done = run("first_term.md")
    assert done["after"].converged and done["after"].duration > done["before"].duration + 1e-3
    peak = done["gentle"].parameters["peak"][0]
    assert done["gentle"].converged and 0.0 < peak < 200.0
    printed = capsys.readouterr().out
    assert "\nPASS" in printed
    assert printed.splitlines()[-1].startswith("two_link_rr: converged")  # with the block of NumPy


def test_the_page_on_dynamics_solves_by_hand_and_by_pinocchio():
    pytest.importorskip("pinocchio")
    done = run("own_dynamics.md")
    assert done["boom"].converged and 0.0 < done["boom"].duration / 9.14093620 - 1.0 < 1.5e-3
    first, second = done["durations"]
    assert second == pytest.approx(first, rel=1e-5)


def test_the_page_on_systems_swings_the_pole_up_like_the_robot(capsys):
    done = run("systems.md")
    assert done["swing_up"].objective == pytest.approx(58.8077, rel=1e-4)
    assert "PASS" in capsys.readouterr().out
