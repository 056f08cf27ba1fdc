"""The names that a package exports: one list for Python, type checkers, completion and help."""

import ast
import inspect
import pickle
import tomllib
from importlib import import_module
from pathlib import Path
from typing import get_type_hints

import pytest

import dynamics
import problems
import trajopt

ROOT = Path(__file__).parents[2]
PACKAGES = (trajopt, trajopt.adapters, trajopt.library, trajopt.plot, trajopt.report, dynamics, problems)
LAZY = (trajopt, trajopt.adapters, trajopt.library, dynamics, problems)


def for_type_checkers(package):
    """Name -> module from which the block `if TYPE_CHECKING` of a package imports it."""
    tree = ast.parse(Path(package.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If) and node.test.id == "TYPE_CHECKING")
    found = {}
    for node in block.body:
        for alias in node.names:
            assert alias.asname == alias.name, "only `import name as name` is exported to type checkers"
            found[alias.name] = node.module
    return found


@pytest.mark.parametrize("package", LAZY, ids=lambda package: package.__name__)
def test_type_checkers_and_python_import_the_same_names(package):
    static = for_type_checkers(package)
    assert sorted(static) == sorted(package.__all__)
    for name, home in static.items():
        value = getattr(package, name)
        module = inspect.getmodule(value)
        if inspect.ismodule(value):
            assert value.__name__ == f"{home}.{name}"
        elif inspect.isclass(value) or inspect.isroutine(value):
            assert module.__name__ == home, name


#: Types that type checkers alone know, loaded where they are used: those of rooms above, and with libraries.
LOADED_LATE = dict.fromkeys(["BSpline", "DesignedBlock", "ModelBlock", "Poses", "ProblemSummary"], object)
LOADED_LATE |= dict.fromkeys(["Certificate", "Covariance", "Diagnosis", "Report", "Sensitivity"], object)
LOADED_LATE |= dict.fromkeys(["Samples", "Scaling"], object)

GENERATED = "<string>"  # file of the methods that `dataclass` writes, whose types are those of the class


def annotated(value):
    """A function; a class and its methods; the function `build` of a problem."""
    if inspect.ismodule(value):
        return annotated(value.build) if hasattr(value, "build") else []
    if not inspect.isclass(value):
        return [value] if inspect.isroutine(value) else []
    members = [value]
    for _, member in inspect.getmembers_static(value):
        wrapped = (getattr(member, name, None) for name in ("fget", "func", "__func__"))
        method = next(filter(None, wrapped), member)
        if inspect.isfunction(method) and inspect.unwrap(method).__code__.co_filename != GENERATED:
            members.append(method)
    return members


@pytest.mark.parametrize("package", PACKAGES, ids=lambda each: each.__name__)
def test_exported_classes_and_functions_have_types_that_tools_can_read(package):
    for name in package.__all__:
        for each in annotated(getattr(package, name)):
            get_type_hints(each, localns=LOADED_LATE)


@pytest.mark.parametrize(
    ("package", "namesakes"),
    [(trajopt, []), (trajopt.library, ["manipulability"]), (dynamics, [])],
)
def test_a_submodule_does_not_hide_the_function_of_the_same_name(package, namesakes):
    """Importing a file of a package binds it to its name in the package, whatever stood there."""
    folder = Path(package.__file__).parent
    assert namesakes == [name for name in package.__all__ if (folder / f"{name}.py").is_file()]
    for name in namesakes:
        setattr(package, name, import_module(f"{package.__name__}.{name}"))  # as the import system does
        assert inspect.isfunction(getattr(package, name))


@pytest.mark.parametrize("package", [trajopt, trajopt.library, dynamics], ids=lambda each: each.__name__)
def test_a_package_is_sent_to_other_processes_by_its_name(package):
    assert pickle.loads(pickle.dumps(package)) is package


@pytest.mark.parametrize("package", LAZY, ids=lambda package: package.__name__)
def test_completion_lists_public_names_and_no_others(package):
    listed = [name for name in dir(package) if not name.startswith("__")]
    assert listed == sorted(package.__all__)
    assert {"__all__", "__doc__", "__name__"} & set(dir(package)) >= {"__doc__", "__name__"}


@pytest.mark.parametrize("package", LAZY, ids=lambda package: package.__name__)
def test_editors_see_no_other_names(package):
    """They list whatever a package with types defines, and its imports that are `as` themselves."""
    for node in ast.parse(Path(package.__file__).read_text(encoding="utf-8")).body:
        assert isinstance(node, ast.Expr | ast.Import | ast.ImportFrom | ast.If), ast.unparse(node)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_help_of_every_public_name_says_what_it_is(package):
    for name in package.__all__:
        value = getattr(package, name)
        text = inspect.getdoc(value)
        assert text and len(text.partition("\n")[0].split()) >= 3, f"{package.__name__}.{name} says {text!r}"
        assert not text.startswith(f"{name}("), f"{name} has the docstring that dataclasses generate"
        if not (inspect.isclass(value) or inspect.isroutine(value) or inspect.ismodule(value)):
            assert text != inspect.getdoc(type(value)), f"{package.__name__}.{name} has its class's docstring"


def test_help_of_every_problem_says_what_its_parameters_are():
    for name in problems.__all__:
        build = getattr(problems, name).build
        assert inspect.getdoc(build) and inspect.signature(build).parameters, name


def test_a_term_of_a_function_has_the_docstring_of_the_function():
    @trajopt.term
    def heat(node):
        """Copper losses, W."""
        return node.tau**2

    assert inspect.getdoc(heat) == "Copper losses, W."


def test_packages_say_that_they_carry_types():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    data = text.partition("[tool.setuptools.package-data]\n")[2].partition("\n\n")[0]
    for package in ("dynamics", "trajopt", "problems"):
        assert (ROOT / package / "py.typed").is_file()
        line = next(line for line in data.splitlines() if line.startswith(f'"{package}" = '))
        assert '"py.typed"' in line


def test_modules_that_are_checked_by_strict_types_are_there():
    """pyright says nothing of a path that leads nowhere."""
    strict = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pyright"]["strict"]
    assert [path for path in strict if not (ROOT / path).is_file()] == []


def test_type_checkers_and_python_give_a_model_the_same_parameters():
    source = Path(inspect.getfile(dynamics.RigidBodyModel)).read_text(encoding="utf-8")
    declared = next(
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef) and node.name == "__init__"
    )
    generated = inspect.signature(dynamics.RigidBodyModel).parameters
    assert [argument.arg for argument in declared.args.args] == ["self", *generated]
