"""Types of the three packages: pyrefly over all of them, pyright in strict mode over what exports names.

    python scripts/check_types.py            0 where both find nothing wrong
    python scripts/check_types.py --full     pyright over all of them, too, in ten times the time

Rules are those of pyproject.toml. pyright alone checks that methods and fields fit those that they override.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def commands(full: bool) -> list[list[str]]:
    """The two commands; `full`: pyright over everything."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pyright"]
    here = sys.executable
    return [
        [here, "-m", "pyrefly", "check", "--python-interpreter-path", here, "--min-severity", "error"],
        [here, "-m", "pyright", "--pythonpath", here, *([] if full else settings["strict"])],
    ]


def main(*arguments: str) -> int:
    if arguments not in ((), ("--full",)):
        print("usage: python scripts/check_types.py [--full]", file=sys.stderr)
        return 2
    return max([subprocess.run(command, cwd=ROOT).returncode for command in commands(bool(arguments))])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
