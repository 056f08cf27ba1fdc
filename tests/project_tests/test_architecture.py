"""The arrows of the architecture: which room may import which, and what `import` must not cost."""

import ast
import functools
import json
import subprocess
import sys
from pathlib import Path

import pytest
from tiers import fast_first

from scripts import architecture, code_counts
from scripts.solve_trace import MOST_FILES

ROOT = Path(__file__).parents[2]
PRODUCT = ("dynamics", "trajopt", "problems")
LAZY = ("numba", "casadi", "cyipopt", "matplotlib", "scipy.interpolate", "rich", "click")


def sources(package):
    return sorted((ROOT / package).rglob("*.py"))


@functools.cache
def imports(path):
    """Every module that a file imports, at its top or inside functions."""
    found = set()
    for node in architecture.import_statements(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        else:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def packages(path):
    return {name.partition(".")[0] for name in imports(path)}


def files_that_import(module, among=PRODUCT):
    return {
        path.relative_to(ROOT).as_posix()
        for package in among
        for path in sources(package)
        if any(name == module or name.startswith(module + ".") for name in imports(path))
    }


def test_dynamics_and_trajopt_never_import_each_other():
    assert not [path for path in sources("dynamics") if packages(path) & {"trajopt", "problems"}]
    assert not [path for path in sources("trajopt") if packages(path) & {"dynamics", "problems"}]


def test_imports_run_only_along_the_arrows_for_types_and_inside_functions_too():
    assert architecture.forbidden() == []


def test_no_files_import_each_other_in_a_circle():
    assert architecture.circles(architecture.edges()) == []


def test_every_door_is_opened_by_a_method_and_leads_upwards():
    opened = {(name, architecture.room_of(target)) for name, target in architecture.doors()}
    rooms = ((name, f"trajopt.{room}") for name, text in architecture.DOORS.items() for room in text.split())
    assert set(rooms) == opened
    assert not [room for name, room in opened if room in architecture.allowed(architecture.room_of(name))]


def test_rooms_stand_on_no_more_floors_than_before():
    heights = architecture.floors(architecture.room_edges())
    assert 1 + max(heights.values()) <= 12, sorted(heights.items(), key=lambda room: -room[1])[:6]


def test_a_forbidden_import_and_a_circle_are_seen(monkeypatch):
    """Negative control: with one more import from the bottom to the top both checks object."""
    found = architecture.edges() | {("trajopt.splines.basis", "trajopt.api.solve")}
    monkeypatch.setattr(architecture, "edges", lambda: found)
    assert ("trajopt.splines.basis", "trajopt.api.solve") in architecture.forbidden()
    assert any("trajopt.splines.basis" in circle for circle in architecture.circles(found))


def test_no_folder_holds_more_than_25_files_but_the_catalogue_of_problems():
    counts: dict[str, int] = {}
    for path in architecture.modules().values():
        folder = path.parent.relative_to(ROOT).as_posix()
        counts[folder] = counts.get(folder, 0) + (path.name != "__init__.py")
    crowded = {folder for folder, count in counts.items() if count > 25}
    assert crowded <= {"problems"}


def test_no_public_name_of_trajopt_is_defined_twice():
    assert code_counts.names_defined_twice("trajopt") == {}


@pytest.mark.long
def test_a_solve_and_a_verification_run_through_no_more_files_than_before():
    """In a process of its own: what is imported and cached already would change what runs."""
    code = (
        "import json; from scripts import solve_trace as s;"
        "print(json.dumps([{k: len(t.files) for k, t in s.traces().items()}, s.MOST_FILES]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    files, most = json.loads(done.stdout)
    assert all(files[what] <= most[what] for what in most), files


def test_the_page_has_the_most_files_of_a_solve_and_of_a_verification():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert f"in one solve with defaults | {MOST_FILES['solve']} |" in page
    assert f"in one verification | {MOST_FILES['verify']} |" in page


def test_lines_of_code_are_those_that_run():
    head = '"""Doc."""\nimport os\n\n# a comment\nx = (\n    1,\n    2.5,\n)\n'
    text = head + '\n\ndef f():\n    """Doc."""\n    return x\n'
    assert code_counts.code_lines(text) == 7  # four of x, two of f, and the end of the file
    tree = ast.parse("ONE, TWO = 1, -2.5\nNAME = 'x'\nc: float = 3.0\n")
    assert code_counts.numeric_constants(tree) == 3
    assert code_counts.numeric_literals(tree) == 2


@fast_first("share", [5, 1], 0, 1)
def test_imports_and_definitions_found_by_lines_are_those_of_the_syntax_tree(share):
    """In one of so many files."""
    for path in sorted(architecture.modules().values())[::share]:
        tree = architecture.parsed(path)
        statements = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.Import) or (isinstance(node, ast.ImportFrom) and not node.level)
        ]
        quick = architecture.import_statements(path)
        assert sorted(map(ast.unparse, quick)) == sorted(map(ast.unparse, statements)), path
        top = [ast.unparse(node) for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        assert sorted(ast.unparse(node) for node, place in quick.items() if place == "top") == sorted(top)
        defined = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
        public = [name for name in defined if not name.startswith("_")]
        assert code_counts.public_definitions(path) == public, path


def test_every_room_says_what_it_is_and_stands_in_the_picture():
    drawn = (ROOT / "docs" / "figures" / "architecture.svg").read_text(encoding="utf-8")
    for room in architecture.MAY_IMPORT:
        assert architecture.summary(room), room
        assert f">{room}<" in drawn, f"{room}: python scripts/architecture_picture.py"


def test_nothing_imports_scripts_benchmarks_or_tests():
    outside = {"scripts", "benchmarks", "tests"}
    assert not [path for package in PRODUCT for path in sources(package) if packages(path) & outside]


def test_every_large_library_is_imported_in_as_few_files_as_possible():
    assert files_that_import("cyipopt") == {"trajopt/solvers/ipopt.py"}
    # Problems may write their terms with casadi's functions, as users do.
    names = ("expression", "saved_expression", "any_arithmetic")
    tracing = {f"trajopt/graph/{name}.py" for name in names}
    oracle, nodes = {"dynamics/papers/savin/lagrangian.py"}, {"trajopt/parametric/node_terms.py"}
    assert files_that_import("casadi", among=("dynamics", "trajopt")) == tracing | oracle | nodes
    drawing = {"trajopt/plot", "trajopt/display", "problems/human/plot", "problems/moves/plot"}
    assert {path.rpartition("/")[0] for path in files_that_import("matplotlib")} == drawing
    assert files_that_import("rich") == {"trajopt/solvers/monitor.py"}
    assert {path.rpartition("/")[0] for path in files_that_import("click")} == {
        "problems/cli",
        "problems/cli/commands",
    }
    assert files_that_import("defusedxml") <= {"dynamics/formats/xml_source.py"}
    # What compiles loops: the recursions of rigid bodies, and one file for the factors of sparse steps.
    assert files_that_import("numba", among=("trajopt",)) == {"trajopt/solvers/newton/compiled_loops.py"}
    assert not files_that_import("numba", among=("problems",))


@pytest.mark.parametrize("package", PRODUCT)
def test_importing_a_package_loads_no_large_library(package):
    code = f"import sys, {package}; print([name for name in {LAZY!r} if name in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


def test_every_name_that_a_package_exports_exists():
    import dynamics
    import trajopt

    for package in (dynamics, trajopt):
        for name in package.__all__:
            assert getattr(package, name) is not None, name


def test_an_unknown_name_of_a_package_is_an_attribute_error():
    import dynamics
    import trajopt

    for package in (dynamics, trajopt):
        with pytest.raises(AttributeError, match="has no attribute 'no_such_thing'"):
            _ = package.no_such_thing


def test_files_stay_short_and_are_named_by_nouns():
    for package in PRODUCT:
        for path in sources(package):
            lines = len(path.read_text(encoding="utf-8").splitlines())
            assert lines <= 600, f"{path.relative_to(ROOT)} has {lines} lines: two nouns in one file"
            assert path.stem not in {"utils", "util", "helpers", "core", "common", "misc"}, path


def test_all_folders_with_sources_are_installed():
    """An editable install hides a package that the list in pyproject.toml has forgotten."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    listed = ast.literal_eval(text.partition("packages = ")[2].partition("]")[0] + "]")
    found = {
        path.parent.relative_to(ROOT).as_posix().replace("/", ".")
        for package in PRODUCT
        for path in sources(package)
    }
    assert found == set(listed)
