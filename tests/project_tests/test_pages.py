"""Pages of the site: their Python runs, their commands exist, their links lead somewhere."""

import inspect
import os
import re
import shlex
import subprocess
import sys
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from pydoc import locate
from types import SimpleNamespace

import pytest
from library_solutions import AT_DEFAULTS, SCRIPTS, check_script
from tiers import every

import problems
from problems.cli.command_line import main
from problems.cli.literal import parameters_of
from scripts import decisions_index

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if "built" not in path.parts)
SHORT = (
    "extend/cost.md",
    "extend/joint.md",
    "howto/fitting.md",
    "howto/save_and_export.md",
    "index.md",
    "start.md",
)
IN_OTHER_TESTS = (
    "first_term.md",
    "homework_solutions.md",
    "howto/mechanisms.md",
    "howto/phases.md",
    "howto/questions.md",
    "howto/terms.md",
    "own_dynamics.md",
    "systems.md",
    "tutorials/weights_from_motions.md",
)  # test_tutorials.py, test_homework.py
STARTS_PROCESSES = "many.md"  # which import the file that they were started from
MAY_FAIL = "solution", "short", "straight"  # solutions that a page shows failing


def name_of(page):
    return page.relative_to(DOCS).as_posix()


def blocks(page, language):
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def with_python():
    elsewhere = (*IN_OTHER_TESTS, STARTS_PROCESSES)
    chosen = [page for page in PAGES if blocks(page, "python") and name_of(page) not in elsewhere]
    marks = {page: () if name_of(page) in SHORT else (pytest.mark.long,) for page in chosen}
    return [pytest.param(page, id=name_of(page), marks=marks[page]) for page in chosen]


@pytest.mark.long
@pytest.mark.parametrize("page", with_python())
def test_the_python_of_a_page_runs_in_order_as_a_reader_would_run_it(
    page, tmp_path, monkeypatch, capsys, few_pictures
):
    monkeypatch.chdir(tmp_path)
    names = {}
    for code in blocks(page, "python"):
        exec(compile(code, name_of(page), "exec"), names)
    printed = capsys.readouterr().out
    assert printed and "FAIL" not in printed
    for name, value in names.items():
        if name not in MAY_FAIL:
            assert getattr(value, "converged", True), f"{name}: {value}"


@pytest.mark.long
def test_the_page_on_many_problems_runs_as_a_file(tmp_path):
    (code,) = blocks(DOCS / STARTS_PROCESSES, "python")
    (tmp_path / "moves.py").write_text(code, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "moves.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and "3 of 3 converged" in done.stdout, done.stderr


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(SCRIPTS.keys() - AT_DEFAULTS.values()))
def test_a_script_of_the_gallery_draws_a_converged_solution(name):
    """The others run with the problems that they draw, in tests of these."""
    check_script(name)


@every("page", PAGES)
def test_links_lead_to_files_that_exist(page):
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target, anchor in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)[^)]*\)", text):
        if not target.startswith(("https://", "built/", "../built/")):
            file = page.parent / target if target else page
            assert file.exists(), target
            assert not anchor or file.suffix != ".md" or anchor in anchors(file), (target, anchor)


def anchors(page):
    """The addresses of the headings of a page, as sites and repositories make them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def test_longer_paths_that_are_public_can_be_imported():
    text = (DOCS / "versions.md").read_text(encoding="utf-8")
    (listed,) = re.findall(r"longer paths are public, too: (.*?)\. Any other", text)
    paths = re.findall(r"`([\w.]+)`", listed)
    assert len(paths) > 3 and all(import_module(path) for path in paths)


def test_names_that_pages_mention_exist():
    """`trajopt.problems` is a group of entry points; records of decisions name what there was."""
    pages = [
        page
        for page in [*PAGES, DOCS.parent / "README.md"]
        if "decisions" not in str(page.relative_to(DOCS.parent))
    ]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    names = set(re.findall(r"(?<![\w./-])((?:dynamics|trajopt)(?:\.[a-z]\w*)?\.[A-Za-z]\w*)", text))
    missing = [name for name in names - {"trajopt.problems"} if locate(name) is None]
    assert len(names) > 80 and not missing, missing


@every("page", PAGES)
def test_lines_of_code_fit_into_the_column_of_a_page(page):
    lines = [line for block in blocks(page, "python") for line in block.splitlines()]
    assert not [line for line in lines if len(line) > 100]


def test_commands_of_the_decisions_name_tests_and_benchmarks_that_exist():
    text = "\n".join(page.read_text(encoding="utf-8") for page in (DOCS / "decisions").glob("*.md"))
    tests = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")}
    chosen = re.findall(r"pytest(?: -m \S+)? -k (?:\"([^\"]+)\"|(\w+))", text)
    for name in {name for quoted, single in chosen for name in (quoted or single).split(" or ")} - {"NAME"}:
        assert name in tests or any(f"def {name}" in source for source in tests.values()), name
    for module in set(re.findall(r"python -m (benchmarks[\w.]*)", text)):
        path = ROOT / module.replace(".", "/")
        assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file(), module


def test_the_index_of_decisions_lists_every_record():
    assert decisions_index.index() == (DOCS / "decisions.md").read_text(encoding="utf-8")
    for page in (DOCS / "decisions").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        records = re.findall(r"^\*\*.+?\*\*", text, re.MULTILINE)
        assert len(records) == len(decisions_index.RECORD.findall(text)), f"{page.name}: a record has no date"


def test_no_page_holds_both_sides_of_a_conflict():
    pages = [*DOCS.rglob("*.md"), *ROOT.glob("*.md")]
    marks = ("<" * 7, ">" * 7)
    lines = [(page, line) for page in pages for line in page.read_text(encoding="utf-8").splitlines()]
    assert len(pages) > 20 and not [(page, line) for page, line in lines if line.startswith(marks)]


@every("page", PAGES)
def test_commands_of_a_page_exist_with_their_options(page):
    lines = [line for block in blocks(page, "sh") for line in block.splitlines()]
    for line in lines:
        if line.startswith("trajopt "):
            words = shlex.split(line.partition("#")[0])
            command = main.commands[words[1]]
            options = {
                option for each in command.params for option in (*each.opts, *each.secondary_opts)
            }  # --no-passive among them
            assert {word for word in words if word.startswith("--")} <= options, line
            if words[1] != "sweep":
                parameters_of([value for word, value in pairwise(words) if word == "--set"])  # one value each


@pytest.fixture
def extensions(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS / "extensions"))
    names = {"docstrings": "docstrings", "pages": "reference_pages", "search": "search_passages"}
    return SimpleNamespace(**{name: import_module(module) for name, module in names.items()})


def test_docstrings_become_lists_links_and_blocks(extensions):
    text = """Solve it, a*b and x_1, by `trajopt.solve` and `f(x)`.

        minimize |x|

    tol : largest error,
        scaled
    a, b (m) : lengths
    speed      m/s
    """
    assert extensions.docstrings.converted(inspect.cleandoc(text)).split("\n\n") == [
        r"Solve it, a\*b and x\_1, by \ :py:obj:`trajopt.solve <trajopt.solve>`\  and \ ``f(x)``\ .",
        ".. code-block:: text",
        "    minimize |x|",
        "- **tol**: largest error, scaled",
        "- **a, b (m)**: lengths",
        "speed      m/s",
    ]


def test_a_long_word_that_is_no_field_is_read_at_once(extensions):
    """In 2^100 steps where a field may be several names without a comma between them."""
    assert extensions.docstrings.converted("a" * 100) == "a" * 100


def test_the_reference_has_every_public_name(extensions):
    for name in extensions.pages.PACKAGES:
        package = import_module(name)
        page = extensions.pages.package_page(package)
        for public in package.__all__:
            if not inspect.ismodule(getattr(package, public)):
                assert re.search(rf"^\.\. (autoclass|autofunction|py:data):: {name}\.{public}$", page, re.M)
    page = extensions.pages.problems_page()
    assert all(f"\n{name}\n---" in page for name in problems.__all__)


def test_the_search_counts_words_of_sections_and_more_those_of_headings(extensions):
    language = SimpleNamespace(
        split=re.compile(r"\w+").findall,
        stem=lambda word: word.rstrip("s"),
        word_filter=lambda word: word != "the",
    )
    arm = extensions.search.Section("arm", "An arm", "The torques of the arm")
    limits = extensions.search.Section("limits", "Limits", "torque_limits")
    index = extensions.search.counted(
        [[], [arm, limits]], lambda text: extensions.search.stems(text, language)
    )
    assert index["passages"] == [
        [1, "", "", 3],
        [1, "limits", "Limits", 3],
    ]
    heading, title = extensions.search.HEADING, extensions.search.TITLE
    assert index["counts"]["arm"] == [0, 1 + heading, 1, title]
    assert index["counts"]["torque"] == [0, 1, 1, 1]
    assert index["counts"]["limit"] == [1, 1 + heading]
    assert index["counts"]["torque_limit"] == [1, 1]


def test_every_page_is_in_the_table_of_contents():
    tables = ((DOCS / name).read_text(encoding="utf-8") for name in ("index.md", "decisions.md"))
    listed = {entry for text in tables for block in blocks_of_toctree(text) for entry in block.split()}
    assert {name_of(page).removesuffix(".md") for page in PAGES} - {"index"} <= listed


def blocks_of_toctree(text):
    for block in re.findall(r"^```\{toctree\}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL):
        yield block.partition("\n\n")[2]


def test_pages_of_the_site_fit_a_telephone():
    """Tables, equations and outputs scroll in their boxes; nothing has a width of its own there."""
    css = (DOCS / "static" / "site.css").read_text(encoding="utf-8")
    assert re.search(r"table\.docutils \{ display: block; overflow-x: auto", css)
    assert re.search(r"div\.math \{[^}]*overflow-x: auto", css)
    assert re.search(r"img \{ max-width: 100%; height: auto", css)
    everywhere = re.sub(r"@media \(min-width.*", "", css)
    widths = re.findall(r"(?<!max-)width: (?:clamp\()?([\d.]+)em", everywhere)
    assert all(float(width) < 20 for width in widths)  # 390 pixels are 24 em
    assert not re.search(r"(?<!max-)(?<!min-)width: \d{3,}px", everywhere)
