"""Names from files and users reach a terminal without control characters."""

import numpy as np
import pytest
from matplotlib.cbook import is_math_text

import problems
import trajopt
from problems.human.opensim.storage import Storage, read_storage, write_storage
from trajopt.base.errors import OptionError, printable, printable_name
from trajopt.base.facts import Facts
from trajopt.base.files import write_text
from trajopt.studies.many.point import StudyPoint

CLEARING = "arm\x1b[2J\x1b]0;title\x07"
SPELLED = r"arm\x1b[2J\x1b]0;title\x07"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Größe θ = 1\n\tx", "Größe θ = 1\n\tx"),
        (CLEARING, SPELLED),
        ("a\rPASS", r"a\rPASS"),
        ("\x9b2J", r"\x9b2J"),
        ("a\u202eb\u2066c", r"a\u202eb\u2066c"),
        ("half \ud800", r"half \ud800"),
        ("two\u2028lines", r"two\u2028lines"),
    ],
)
def test_control_characters_are_spelled_out_and_letters_are_not(text, shown):
    assert printable(text) == shown
    assert printable_name(text) == shown.replace("\n", r"\n").replace("\t", r"\t")


def test_facts_errors_rows_and_titles_spell_names_out():
    assert SPELLED in str(Facts(CLEARING, [(CLEARING, CLEARING)]))
    assert "\x1b" not in str(OptionError(f"no problem is called {CLEARING}"))
    assert "\x1b" not in str(StudyPoint(0, {"name": CLEARING}, "failed", error=CLEARING))
    assert len(str(StudyPoint(0, {}, "failed", error="one\ntwo")).splitlines()) == 1


def test_a_name_with_an_escape_code_is_spelled_out_by_what_a_solution_prints():
    problem = problems.double_integrator.build()
    problem.name = CLEARING
    solution = trajopt.solve(problem)
    report, summary = solution.verify(), problem.summary()
    for each in (solution, report.table, problem, summary):
        assert SPELLED in str(each) and "\x1b" not in str(each) + repr(each)
    assert trajopt.plot.torques(solution)._suptitle.get_text().startswith(SPELLED)


@pytest.mark.long
def test_a_name_that_looks_like_a_formula_is_drawn_as_it_is():
    problem = problems.double_integrator.build(intervals=2)
    problem.name = r"$\frac{$ and $x^2$"
    title = trajopt.plot.torques(trajopt.solve(problem, refine=None))._suptitle
    assert not title.get_parse_math() or not is_math_text(title.get_text())
    title.figure.canvas.draw()


def test_files_of_text_and_tables_hold_names_that_utf_8_cannot(tmp_path):
    write_text(tmp_path / "names.txt", "half \ud800\n")
    assert (tmp_path / "names.txt").read_text(encoding="utf-8") == "half \\ud800\n"
    table = Storage("table", np.arange(2.0), {"two words\nand lines": np.ones(2)})
    write_storage(tmp_path / "table.sto", table)
    assert list(read_storage(tmp_path / "table.sto").columns) == [r"two_words\nand_lines"]
