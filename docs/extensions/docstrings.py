"""Docstrings of this project, plain text with `code`, as the reStructuredText that autodoc expects.

name, other : text            becomes an item of a list, with the indented lines below it
two or more spaces between columns, and indented blocks (equations, examples): as they stand
`solve`, `trajopt.solve`      a link where it is a public name, else code
"""

import ast
import re

import dynamics
import trajopt

NAME = r"[A-Za-z_][\w.]*"
FIELD = re.compile(rf"^({NAME}(?:, {NAME})*(?: \([^)]*\))?) : (.+)$")
COLUMNS = re.compile(r"^\S.*\S {3,}\S|^\S+ {2,}\S")
INDENT = "    "
# What `NDArray[...]` and `ArrayLike` of NumPy stand for.
ARRAY = r"~?(?:numpy\.)?ndarray\[tuple\[[^\]]*\], ~?(?:numpy\.)?dtype\[[^\]]*\]\]"
NUMBER = r"(?:bool \| int \| float \| )?complex \| (?:str \| bytes|bytes \| str)"
ARRAY_LIKE = rf"~?[\w.]*Buffer \| ~?[\w.]*_SupportsArray.*?_NestedSequence\[{NUMBER}\]"


def converted(text):
    """A docstring as reStructuredText."""
    return "\n\n".join(block for part in re.split(r"\n\s*\n", text) for block in blocks(part.splitlines()))


def blocks(lines):
    """The blocks that a part of a docstring without blank lines becomes."""
    lines = [line.rstrip() for line in lines if line.strip()]
    if not lines:
        return []
    shallowest = min(len(line) - len(line.lstrip()) for line in lines)
    if shallowest >= 2 or (any(COLUMNS.match(line) for line in lines) and not FIELD.match(lines[0])):
        return [literal(lines)]
    found = []
    for first, below in groups(lines):
        field, item = FIELD.match(first[-1]), first[-1].startswith("- ")
        if field:
            text = " ".join([field[2], *(line.strip() for line in below)])
            found.append(f"- **{escaped(field[1])}**: {inline(text)}")
        elif item:
            found.append("- " + inline(" ".join([first[-1][2:], *(line.strip() for line in below)])))
        else:
            found.append(inline(" ".join(first)))
            if below:
                found += nested(below)
    return found


def groups(lines):
    """Pairs of lines that belong together: unindented ones, and the indented ones below."""
    found = []
    for line in lines:
        if line.startswith(" "):
            found[-1][1].append(line)
        elif found and not found[-1][1] and is_text(line) and is_text(found[-1][0][-1]):
            found[-1][0].append(line)
        else:
            found.append(([line], []))
    return found


def is_text(line):
    return not FIELD.match(line) and not line.startswith("- ")


def nested(lines):
    """Indented lines below a text: fields of their own, or an example."""
    depth = min(len(line) - len(line.lstrip()) for line in lines)
    dedented = [line[depth:] for line in lines]
    return blocks(dedented) if FIELD.match(dedented[0]) else [literal(lines)]


def literal(lines):
    """Lines as they stand; an example is coloured as Python, an equation is not."""
    depth = min(len(line) - len(line.lstrip()) for line in lines)
    dedented = [line[depth:] for line in lines]
    try:
        ast.parse("\n".join(dedented))
        language = "python"
    except SyntaxError:
        language = "text"
    return f".. code-block:: {language}\n\n" + "\n".join(INDENT + line for line in dedented)


def inline(text):
    """Text with its code marked, and everything else that means something to reStructuredText escaped."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escaped(text)
    return "".join(code(part) if i % 2 else escaped(part) for i, part in enumerate(parts))


def code(text):
    name = text.removesuffix("()")
    for package in (trajopt, dynamics):
        prefix = f"{package.__name__}."
        if name.removeprefix(prefix) in package.__all__ and (name.startswith(prefix) or name[0].isupper()):
            return rf"\ :py:obj:`{text} <{prefix}{name.removeprefix(prefix)}>`\ "
    return rf"\ ``{text}``\ " if text.strip() == text and text else escaped(text)


def escaped(text):
    return re.sub(r"([\\*|_`])", r"\\\1", text)


def convert(app, what, name, item, options, lines):
    lines[:] = converted("\n".join(lines)).splitlines()


def shortened(app, what, name, item, options, signature, returned):
    """Arrays by the names that the sources use, in place of what these names stand for."""
    return tuple(
        text and re.sub(ARRAY, "ndarray", re.sub(ARRAY_LIKE, "ArrayLike", text))
        for text in (signature, returned)
    )


def setup(app):
    app.connect("autodoc-process-docstring", convert)
    app.connect("autodoc-process-signature", shortened)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
