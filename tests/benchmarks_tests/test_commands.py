"""Commands that pages name: all are known, and each runs to its table at smallest size."""

import json
import re
from pathlib import Path

import pytest

from benchmarks import tables
from benchmarks.catalogue import COMMANDS
from benchmarks.legged.peer import PeerVersionError, check_versions
from benchmarks.shared.arguments import pages
from benchmarks.shared.commands import Command, MissingColumnsError
from trajopt.base.errors import OptionError

ROOT = Path(__file__).resolve().parents[2]
NAMED = re.compile(r"python3? (?:-m benchmarks\.([\w.]+)|scripts/(\w+\.py))([^`\n#,;)]*)")
# `.ci/run` builds the site; the wheel and all platforms need an index; test_pages.py compares the decisions';
# faults are planted in a checkout of git, each with tests of its own. The walk of Moco needs OpenSim's files.
ELSEWHERE = (
    "site.py",
    "check_types.py",
    "check_wheel.py",
    "resolve.py",
    "decisions_index.py",
    "planted_faults.py",
    "muscles.moco_walk",
)


def documented():
    """(module or script, arguments) of every command in pages and first lines of modules."""
    texts = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "problems").rglob("*.md")]
    texts = [path for path in texts if path.name != "CHANGELOG.md"]
    texts += [*(ROOT / "benchmarks").rglob("*.py"), *(ROOT / "scripts").glob("*.py")]
    found = set()
    for path in texts:
        for module, script, rest in NAMED.findall(path.read_text(encoding="utf-8")):
            found.add((module.rstrip(".") or script, rest.strip()))
    return found


def test_every_command_that_a_page_names_is_known():
    known = {command.name.split()[0] for command in COMMANDS}
    named = {module for module, _ in documented()} - {*ELSEWHERE}
    assert len(named) > 40
    assert named <= known, f"no entry in benchmarks/catalogue.py: {sorted(named - known)}"


def test_every_part_that_a_page_names_is_known_where_the_catalogue_lists_parts():
    words = [command.name.split()[:2] for command in COMMANDS]
    parts = {tuple(each) for each in words if len(each) == 2 and re.fullmatch(r"[a-z_]+", each[1])}
    listed = {module for module, _ in parts}
    named = {(module, word) for module, rest in documented() for word in re.findall(r"^[a-z_]+", rest)}
    named = {each for each in named if each[0] in listed}
    assert {("gait", "weights"), ("running", "crossing")} <= named
    assert named <= parts, f"no entry in benchmarks/catalogue.py: {sorted(named - parts)}"


def test_every_part_of_a_benchmark_is_known():
    from benchmarks.gait.__main__ import OF_A_COST, OTHERS
    from benchmarks.running.__main__ import PARTS

    names = {command.name for command in COMMANDS}
    assert {f"gait {part}" for part in (*OF_A_COST, *OTHERS)} <= names
    assert {f"running {part}" for part in PARTS} <= names


def test_names_are_there_once_and_columns_are_told():
    names = [command.name for command in COMMANDS]
    assert len(set(names)) == len(names)


def test_columns_are_told_where_a_smallest_size_runs():
    silent = ("architecture_picture.py", "readme_figure.py")  # they draw, and print nothing
    assert [each.name for each in COMMANDS if each.smallest is not None and not each.columns] == list(silent)


@pytest.mark.commands
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_the_smallest_size_runs_to_its_table(command, tmp_path):
    if reason := command.missing():
        pytest.skip(reason)
    before = {path: path.stat().st_mtime_ns for path in (ROOT / "docs").rglob("*") if path.is_file()}
    command.run_smallest(tmp_path)
    changed = [path for path, time in before.items() if path.stat().st_mtime_ns != time]
    assert not changed, "the smallest size writes no page"


@pytest.mark.long
def test_a_table_without_its_columns_and_a_failing_command_are_named(tmp_path):
    with pytest.raises(MissingColumnsError, match="no line has the columns"):
        Command("trend", "", ("rows", "of", "nothing")).run_smallest(tmp_path)
    with pytest.raises(MissingColumnsError, match=r"status 2[^@]*unrecognized arguments: --nothing"):
        Command("trend", "--nothing", ("row",)).run_smallest(tmp_path)


def test_what_is_missing_is_told_by_name(monkeypatch):
    assert Command("x", needs=("no_such_module",)).missing() == "no_such_module not installed"
    monkeypatch.delenv("OSIM_MODELS", raising=False)
    assert "OSIM_MODELS" in Command("x", "{measured runs}").missing()
    assert Command("x", "{own robots}", needs=("json",)).missing() == ""


def test_an_unknown_table_is_refused_with_the_list():
    with pytest.raises(OptionError, match="no table is called nothing: there are adapters, assembly, "):
        tables.chosen(["systems", "nothing"])
    assert [each.name for each in tables.chosen(["systems"])] == ["systems"]


def test_every_mark_that_a_command_writes_is_in_its_page():
    for command in tables.generated().values():
        for each in command.writes:
            name, _, mark = each.partition("#")
            if mark and name.endswith(".md"):
                text = (tables.DOCS / name).read_text(encoding="utf-8")
                assert f"<!-- {mark} -->\n" in text, (command.name, each)


def test_a_table_that_was_changed_by_hand_is_told_apart(tmp_path):
    command = Command("systems", writes=("page.md#comparison", "numbers.json#run", "figures/a_*.png"))
    page, numbers = tmp_path / "page.md", tmp_path / "numbers.json"
    assert tables.digest(command, tmp_path) == ""
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "a_b.png").write_bytes(b"picture")
    page.write_text("before\n<!-- comparison -->\ntable\n<!-- end -->\nafter\n")
    numbers.write_text(json.dumps({"run": 1, "other": 2}))
    known = {"systems": {"commit": "abc", "date": "2026-11-28", "machine": "here"}}
    known["systems"]["digest"] = tables.digest(command, tmp_path)
    assert tables.row(command, known, tmp_path)[:4] == ["systems", "abc", "2026-11-28", "here"]
    page.write_text("elsewhere\n<!-- comparison -->\ntable\n<!-- end -->\n")
    numbers.write_text(json.dumps({"run": 1, "other": 3}))
    assert tables.row(command, known, tmp_path)[2] == "2026-11-28"
    numbers.write_text(json.dumps({"run": 4, "other": 3}))
    assert tables.row(command, known, tmp_path)[2] == "2026-11-28, changed since"
    assert tables.row(command, {}, tmp_path)[2] == "no run kept"


def test_a_run_that_fails_is_not_kept(monkeypatch, tmp_path):
    monkeypatch.setattr(tables, "RECORD", tmp_path / "generated.json")
    with pytest.raises(tables.subprocess.CalledProcessError):
        tables.rewrite([Command("no_such_benchmark", writes=("systems.md",))])
    assert not (tmp_path / "generated.json").exists()


def test_pages_of_the_smallest_size_are_copies():
    with pages(smallest=True) as copy:
        (copy / "systems.md").write_text("nothing")
        assert (copy / "figures").is_dir()
    assert not copy.exists() and "# " in (tables.DOCS / "systems.md").read_text(encoding="utf-8")
    with pages() as docs:
        assert docs == tables.DOCS


def test_crocoddyl_beside_another_pinocchio_is_refused_by_name():
    check_versions("3.2.1", "4.0.0")
    check_versions("9.9", "4.1.0")
    with pytest.raises(
        PeerVersionError, match=r"crocoddyl 3\.2\.1 is compiled with Pinocchio 4\.0\.0, but this"
    ):
        check_versions("3.2.1", "4.1.0")
