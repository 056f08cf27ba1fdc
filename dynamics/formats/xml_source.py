"""XML of a file or a string, parsed; document types, and with them all entities, are refused."""

from __future__ import annotations

import os
import re
from pathlib import Path
from xml.etree.ElementTree import Element

from dynamics.arguments import short_repr
from dynamics.errors import UrdfError

# The largest humanoid URDFs have 0.3 MB; beyond this it is a mistake or an attack.
LARGEST = 10_000_000
# Elements of xacro that no expanded file has; calls of macros that were not found stay in some.
XACRO = ("macro", "include", "property", "arg", "if", "unless", "insert_block", "element", "attribute")
READERS = {"mujoco": "from_mujoco", "OpenSimDocument": "load_osim"}
WINDOWS = "cp1252"  # the encoding of texts that were pasted into files which say that they are UTF-8
POINTER = b"version https://git-lfs"
MOST_FILES = 1000  # of a folder that are looked at for a name


def xml_root(path_or_xml: str | os.PathLike[str]) -> Element:
    """The root element of a file, or of a string that starts with "<"; UrdfError when it cannot be had."""
    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import ParseError, fromstring

    content, where = source_bytes(path_or_xml)
    if len(content) > LARGEST:
        raise UrdfError(f"{where} has {len(content)} bytes or more; at most {LARGEST} are read")
    content = without_double_colons(content)
    try:
        try:
            return fromstring(content, forbid_dtd=True)
        except (ParseError, ValueError) as error:
            if isinstance(error, DefusedXmlException):
                raise
            return fromstring(lenient_text(content), forbid_dtd=True)  # Expat knows no encodings of Asia
    except DefusedXmlException as error:
        raise UrdfError(
            f"{where} has a document type or declares entities, which are refused: remove <!DOCTYPE ...> "
            f"({error})"
        ) from error
    except (ParseError, ValueError, LookupError) as error:
        raise UrdfError(f"{where} is not well-formed XML: {error}{lfs_hint(content)}") from error


def lfs_hint(content: bytes | str) -> str:
    """The end of a message on a file that only points to one of Git LFS, not fetched yet, or nothing."""
    start = content[: len(POINTER)]
    pointer = POINTER if isinstance(start, bytes) else POINTER.decode()
    return "; it is a pointer of Git LFS: fetch the file by git lfs pull" if start == pointer else ""


def lenient_text(content: bytes | str) -> str:
    """XML that TinyXML, the reader of ROS, MuJoCo and OpenSim, takes, as text that a strict reader takes.

    Bytes that are not UTF-8 are read as Windows', comments, which may hold "--", are left out, and prefixes
    are declared.
    """
    if isinstance(content, bytes):
        stated = re.match(rb"""<\?xml[^>]*encoding=["']([\w.-]+)""", content)
        encoding = stated[1].decode("ascii").lower() if stated else "utf-8"
        try:
            content = content.decode(encoding)
        except UnicodeDecodeError:
            if encoding not in ("utf-8", "utf8"):
                raise
            content = content.decode(WINDOWS, "replace")
    return with_prefixes(without_comments(content.removeprefix("\ufeff")))


def without_comments(text: str) -> str:
    """The XML with the lines of its comments left empty; a comment ends at the first "-->"."""
    kept, at = list[str](), 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        kept += text[at:start], "\n" * text.count("\n", start, end)
        at = end + 3
    return "".join(kept) + text[at:]


def without_double_colons(content: bytes | str) -> bytes | str:
    """XML whose names such as <HuntCrossleyForce::ContactParameters>, of OpenSim, have a dot instead."""
    if isinstance(content, str):
        return re.sub(r"(</?[A-Za-z_][\w.-]*)::(?=[A-Za-z_])", r"\1.", content)
    return re.sub(rb"(</?[A-Za-z_][\w.-]*)::(?=[A-Za-z_])", rb"\1.", content)


def with_prefixes(text: str) -> str:
    """The XML whose root declares every prefix of its elements, as readers without namespaces do not ask."""
    prefixes = {
        *re.findall(r"<([A-Za-z_][\w.-]*):", text),
        *re.findall(r"\s([A-Za-z_][\w.-]*):[\w.-]+\s*=", text),
    }
    missing = sorted(prefixes - {"xml", "xmlns", *re.findall(r"xmlns:([A-Za-z_][\w.-]*)", text)})
    declared = "".join(f' xmlns:{each}="{each}"' for each in missing)
    return re.sub(r"<([A-Za-z_][\w.:-]*)", lambda found: found.group() + declared, text, count=1)


def urdf_root(path_or_xml: str | os.PathLike[str]) -> Element:
    """The <robot> of a URDF; UrdfError for another root, and for xacro that was not expanded."""
    robot = xml_root(path_or_xml)
    own = robot.tag.rpartition("}")[0] + "}" if robot.tag.startswith("{") else ""
    for each in robot.iter() if own else ():  # a namespace of the whole file says nothing
        if isinstance(each.tag, str):
            each.tag = each.tag.removeprefix(own)
    tags = [each.tag.rpartition("}") for each in robot.iter() if isinstance(each.tag, str)]
    macros = [name for space, _, name in tags if "xacro" in space]
    text = os.fspath(path_or_xml)
    is_file = not text.lstrip("\ufeff \t\r\n").startswith("<")
    unexpanded = [name for name in macros if name in XACRO or robot.find("link") is None]
    if unexpanded or (is_file and text.lower().endswith(".xacro")):
        name = Path(text).name if is_file else "robot.urdf.xacro"
        made = f"{name.partition('.')[0]}.urdf"
        held = f" with <xacro:{unexpanded[0]}>" if unexpanded else ""
        raise UrdfError(
            f"{repr(text) if is_file else 'the XML string'} is xacro{held}, macros that make a URDF: expand "
            f"it first by ROS, xacro {name} > {made if made != name else f'expanded_{name}'}"
        )
    if robot.tag != "robot":
        reader = READERS.get(robot.tag)
        advice = f": read it by dynamics.{reader} and hand over the model" if reader else ""
        if robot.tag == "sdf":
            advice = ": SDF is not read; let the tool that made it write a URDF, or MuJoCo's MJCF"
        raise UrdfError(f"the root element is <{robot.tag}>; a URDF has <robot>{advice}")
    return robot


def source_bytes(path_or_xml: str | os.PathLike[str]) -> tuple[bytes | str, str]:
    """The XML and a phrase for messages; a string that starts with "<" is the XML itself."""
    if isinstance(path_or_xml, str) and path_or_xml.lstrip("\ufeff \t\r\n").startswith("<"):
        return path_or_xml.lstrip("\ufeff \t\r\n"), "the XML string"
    if not isinstance(path_or_xml, str | os.PathLike):
        raise UrdfError(f"cannot read {short_repr(path_or_xml)}; give a path, or XML that starts with '<'")
    try:
        path = Path(path_or_xml)
        # Read one byte too many rather than a whole disk.
        with path.open("rb") as stream:
            return stream.read(LARGEST + 1).lstrip(), f"{str(path)!r}"
    except FileNotFoundError as error:
        raise UrdfError(
            f"there is no file {short_repr(path_or_xml)}{_near(Path(path_or_xml))}: give a path, or XML that "
            "starts with '<'"
        ) from error
    except (OSError, TypeError, ValueError) as error:
        raise UrdfError(
            f"cannot read {short_repr(path_or_xml)}: {error}; give a path, or XML that starts with '<'"
        ) from error


def _near(path: Path) -> str:
    """The end of a message that a file is not there: those beside it that may be meant, or nothing."""
    from difflib import get_close_matches

    try:
        names = sorted(each.name for each in path.parent.iterdir())[:MOST_FILES]
    except OSError:
        return ""
    alike = [name for name in names if name.endswith((".urdf", ".xml"))]
    near = get_close_matches(path.name, alike, n=3)
    return f" (did you mean {' or '.join(repr(str(path.parent / name)) for name in near)}?)" if near else ""
