"""Pages of the reference: every public name of every package, written anew when the site is built.

Pages of sources, to which these lead, are in no table of contents: those of one depth share their navigation,
which differs between other pages by what is marked as current. It was a fifth of the time of a quick build.
"""

import functools
import inspect
from importlib import import_module
from pathlib import Path

import docstrings

PACKAGES = ("trajopt", "trajopt.library", "trajopt.adapters", "trajopt.plot", "trajopt.report", "dynamics")
PROBLEMS = "problems"
#: Rooms in the order in which a reader meets them; others follow by name.
FIRST = ("problem", "splines", "terms", "solve", "solvers", "solution", "refinement", "phases", "model")
FOLDER = Path(__file__).parents[1] / "built" / "reference"


def write_pages(app):
    FOLDER.mkdir(parents=True, exist_ok=True)
    pages = {name: package_page(import_module(name)) for name in PACKAGES}
    pages[PROBLEMS] = problems_page()
    for name, text in pages.items():
        path = FOLDER / f"{name}.rst"
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def package_page(package):
    """Its docstring, then its names by the room that defines them."""
    parts = [heading(package.__name__, "="), described(package)]
    rooms = {}
    for name in package.__all__:
        value = getattr(package, name)
        if not inspect.ismodule(value):
            rooms.setdefault(room_of(package, value), []).append(name)
    for room in sorted(rooms, key=lambda room: (FIRST.index(room) if room in FIRST else len(FIRST), room)):
        if room:
            parts += [heading(room, "-"), described_room(package, room)]
        parts += [entry(package, name) for name in rooms[room]]
    return "\n\n".join(part for part in parts if part) + "\n"


def room_of(package, value):
    """The folder or file below the package in which a name is defined; "" for all names of a room."""
    if "." in package.__name__:
        return ""
    module = getattr(value, "__module__", None) or type(value).__module__
    inside = module.removeprefix(f"{package.__name__}.")
    return inside.partition(".")[0].replace("_", " ")


def described_room(package, room):
    module = import_module(f"{package.__name__}.{room.replace(' ', '_')}")
    return docstrings.inline((inspect.getdoc(module) or "").partition("\n\n")[0].replace("\n", " "))


def entry(package, name):
    """The directive by which autodoc writes a name, or its own text where it is an instance."""
    value, path = getattr(package, name), f"{package.__name__}.{name}"
    if inspect.isclass(value):
        inherited = "\n   :inherited-members:" if has_own_base(package, value) else ""
        return f".. autoclass:: {path}\n   :members:{inherited}\n   :exclude-members: __init__"
    if inspect.isroutine(value):
        return f".. autofunction:: {path}"
    text = docstrings.converted(inspect.getdoc(value)).replace("\n", "\n   ")
    return f".. py:data:: {path}\n\n   {text}"


def has_own_base(package, value):
    """True for a class, no error, below another one of the package, whose members count as its own."""
    top = package.__name__.partition(".")[0]
    return not issubclass(value, Exception) and any(
        base.__module__.partition(".")[0] == top for base in value.__mro__[1:]
    )


def problems_page():
    """Every problem: what its module says, and the parameters of its build function."""
    package = import_module(PROBLEMS)
    parts = [heading(PROBLEMS, "="), described(package)]
    for name in package.__all__:
        module = getattr(package, name)
        parts += [heading(name, "-"), described(module)]
        parts += [f".. autofunction:: {module.__name__}.build"]
    return "\n\n".join(parts) + "\n"


def heading(text, underline):
    return f"{text}\n{underline * len(text)}"


def described(value):
    return docstrings.converted(inspect.getdoc(value) or "")


def share_navigation(app, page, template, context, doctree):
    if page not in app.env.all_docs and "toctree" in context:
        tree, depth = context["toctree"], page.count("/")
        context["toctree"] = functools.partial(navigation, tree, app.shared_navigation, depth)


def navigation(tree, found, depth, **options):
    """The tree of all pages, with links as from a page so many folders below the top."""
    key = depth, *sorted(options.items())
    if key not in found:
        found[key] = tree(**options)
    return found[key]


def setup(app):
    app.shared_navigation = {}
    app.connect("builder-inited", write_pages)
    app.connect("html-page-context", share_navigation, priority=400)  # before the theme's, which takes it
    return {"parallel_read_safe": True, "parallel_write_safe": True}
