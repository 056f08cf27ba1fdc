"""Generated tables and figures: `python -m benchmarks.tables [NAME ...]`.

Without names all of them are listed: the commit, date and machine of the run that wrote them, their files and
marks below `docs`, and the command. "changed since" are those whose text is not what that run wrote. With
names, of the first column, these are written anew, each by its command in a process of its own, and the run
is kept in `docs/generated.json`.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.catalogue import COMMANDS
from benchmarks.shared.arguments import DOCS, parser
from benchmarks.shared.commands import ROOT, Command
from benchmarks.shared.markdown import table
from benchmarks.shared.page_rows import text_between_marks
from benchmarks.shared.timing import commit, loaded_machine
from trajopt.base.errors import OptionError

RECORD = DOCS / "generated.json"
HEADINGS = ("table", "commit", "date", "machine", "files", "command")
Record = Mapping[str, Mapping[str, str]]  # name of a table -> commit, date, machine and digest


def generated() -> dict[str, Command]:
    """Name -> command, of those that write something below docs."""
    return {each.name: each for each in COMMANDS if each.writes}


def chosen(names: Iterable[str]) -> list[Command]:
    """The commands of these names; OptionError lists all where one is unknown."""
    known = generated()
    unknown = [name for name in names if name not in known]
    if unknown:
        raise OptionError(f"no table is called {', '.join(unknown)}: there are {', '.join(known)}")
    return [known[name] for name in names]


def digest(command: Command, docs: Path = DOCS) -> str:
    """Digest of all that a command has written, as it stands; empty where a file or a mark is missing."""
    found = hashlib.sha256()
    for each in command.writes:
        name, _, part = each.partition("#")
        paths = sorted(docs.glob(name))
        if not paths:
            return ""
        for path in paths:
            found.update(content(path, part))
    return found.hexdigest()[:16]


def content(path: Path, part: str) -> bytes:
    """A file, or a part of it: of a page what stands between marks, of JSON what a key has."""
    if not part:
        return path.read_bytes()
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        return json.dumps(json.loads(text).get(part)).encode()
    return text_between_marks(text, part).encode()


def row(command: Command, known: Record, docs: Path = DOCS) -> list[str]:
    """The line of a table in the list."""
    last = known.get(command.name, {})
    date = last.get("date", "")
    if not last:
        date = "no run kept"
    elif last["digest"] != digest(command, docs):
        date += ", changed since"
    about = [last.get("commit", ""), date, last.get("machine", "")]
    return [command.name, *about, ", ".join(command.writes), f"`{command.text}`"]


def kept(path: Path = RECORD) -> Record:
    """Runs that are kept, by the names of their tables."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def rewrite(commands: Sequence[Command]) -> None:
    """Run every command, and keep commit, date, machine and what it wrote; the first that fails ends it."""
    running = commit()  # tables that are written change the files of the next ones' commit
    for command in commands:
        print(command.text, flush=True)
        subprocess.run([sys.executable, *command.text.split()[1:]], cwd=ROOT, check=True)
        about = {"commit": running, "date": time.strftime("%Y-%m-%d"), "machine": loaded_machine()}
        record = dict(kept()) | {command.name: about | {"digest": digest(command)}}
        RECORD.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("names", nargs="*", metavar="NAME", help="quoted where it has a blank: 'gait run'")
    given = arguments.parse_args()
    try:
        commands = chosen(given.names)
    except OptionError as error:
        arguments.error(str(error))
    if commands and not given.smallest:
        rewrite(commands)
    else:
        known = kept()
        print(table(HEADINGS, [row(each, known) for each in commands or generated().values()]))


if __name__ == "__main__":
    main()
