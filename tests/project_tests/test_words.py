"""The words of the code: docstrings that begin with the thing, and types in place of `Any`."""

import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("dynamics", "trajopt", "problems")
FOLDERS = (*PACKAGES, "benchmarks", "docs/extensions", "scripts")

#: The first word of a docstring that begins with a clause in place of the thing or of a verb.
WORDS = "Whether|What|Of|Which|How|Where|Why|When|Those|That|By|In|From|As|With|For|Without|If"
CLAUSE = re.compile(rf'^ *r?"""(?:{WORDS})\b(?!-)', re.M)

#: Those of tests, whose docstrings may say in which case or by what an assertion holds.
OF_TESTS = re.compile(r'^ *r?"""(?:Whether|What|Of|Which|How|Those|That)\b', re.M)

ANY = re.compile(r"(?:: |-> )Any\b")

#: Package -> most annotations `Any`: numbers that only fall.
ANY_LEFT = {"dynamics": 240, "problems": 400, "trajopt": 200}


@functools.cache
def texts():
    """(room, text) of every file."""
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    return [("/".join(path.relative_to(ROOT).parts[:2]), path.read_text(encoding="utf-8")) for path in paths]


def count_by_room(pattern):
    counts = {room: 0 for room, _ in texts()}
    for room, text in texts():
        counts[room] += len(pattern.findall(text))
    return counts


@pytest.mark.parametrize(
    "line", ['"""Whether it moves."""', '    r"""Of two answers the better."""', '"""As `clamped`."""']
)
def test_a_docstring_that_begins_with_a_clause_is_seen(line):
    assert CLAUSE.search(f"def f():\n{line}\n")
    assert not CLAUSE.search('"""True if it moves, of whatever kind."""\n"""Whetstone."""\n')


def test_docstrings_begin_with_the_thing_or_a_verb():
    assert all((ROOT / folder).is_dir() for folder in FOLDERS)
    assert {room: count for room, count in count_by_room(CLAUSE).items() if count} == {}


def test_docstrings_of_tests_begin_with_the_thing_or_a_case():
    files = sorted((ROOT / "tests").rglob("*.py"))
    assert [path.name for path in files if OF_TESTS.search(path.read_text(encoding="utf-8"))] == []


def test_annotations_say_more_than_any():
    counts = dict.fromkeys(PACKAGES, 0)
    for room, count in count_by_room(ANY).items():
        if (package := room.partition("/")[0]) in counts:
            counts[package] += count
    assert {package: count for package, count in counts.items() if count > ANY_LEFT[package]} == {}
