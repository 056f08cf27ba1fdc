"""Notebooks in the repository are those of the pages, without outputs."""

import ast
import importlib.util
import json
import re

import pytest

from scripts import notebooks
from trajopt import __version__


def test_notebooks_are_made_of_the_pages_as_they_are():
    wanted = dict(notebooks.notebooks())
    there = {path: path.read_text(encoding="utf-8") for path in notebooks.TARGET.glob("*.ipynb")}
    stale = [path.name for path in wanted.keys() | there.keys() if wanted.get(path) != there.get(path)]
    assert not stale, "python scripts/notebooks.py"


@pytest.mark.parametrize("page", notebooks.pages(), ids=lambda page: page.stem)
def test_a_notebook_is_valid_and_its_links_lead_to_files(page):
    content = json.loads(notebooks.notebook(page))
    first, *rest = content["cells"]
    assert "%pip install" in "".join(first["source"])
    code = ["".join(cell["source"]) for cell in rest if cell["cell_type"] == "code"]
    assert code and all(ast.parse(each) for each in code)
    assert all(cell["outputs"] == [] for cell in content["cells"] if cell["cell_type"] == "code")
    prose = "".join("".join(cell["source"]) for cell in rest if cell["cell_type"] == "markdown")
    links = [link.partition("#")[0] for link in notebooks.LINK.findall(prose)]
    missing = [
        link for link in links if "/built/" not in link and not (notebooks.TARGET / link).resolve().exists()
    ]
    assert not missing


def test_a_notebook_installs_what_it_imports_and_leaves_its_code_alone(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("[a](b.md)\n```python\nimport mujoco\nf[0](x)\n```\n", encoding="utf-8")
    first, prose, code = ("".join(cell["source"]) for cell in json.loads(notebooks.notebook(page))["cells"])
    assert f'"trajopt-splines[mujoco]=={__version__}"' in first and '"mujoco"]' in first
    assert prose.endswith("/b.md)") and code.endswith("f[0](x)")


@pytest.mark.parametrize(
    ("folder", "has", "installs", "asked"),
    [
        ("repository/notebooks", {"trajopt", "dynamics", "problems"}, True, []),
        ("repository/notebooks", set(), True, [".."]),
        ("elsewhere", {"trajopt"}, True, [f"trajopt-splines=={__version__}"]),  # of another project
        ("elsewhere", set(), False, [f"trajopt-splines=={__version__}"]),
    ],
)
def test_the_first_cell_finds_the_package_or_says_how(monkeypatch, tmp_path, folder, has, installs, asked):
    (tmp_path / "repository/trajopt").mkdir(parents=True)
    (tmp_path / folder).mkdir(exist_ok=True)
    monkeypatch.chdir(tmp_path / folder)
    there, commands = set(has), []
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name if name in there else None)

    def install(package):
        commands.append(package)
        there.update(("trajopt", "dynamics", "problems") if installs else ())

    first = json.loads(notebooks.notebook(notebooks.DOCS / "start.md"))["cells"][0]
    cell, magics = re.subn(r"%pip install .*", "install(package)", "".join(first["source"]))
    assert magics == 1
    if installs:
        exec(cell, {"install": install})
    else:
        with pytest.raises(ImportError, match="put its wheel beside this notebook"):
            exec(cell, {"install": install})
    assert commands == asked
