"""Wheels of all dependencies for every supported Python on four platforms, found by `uv` and not installed.

    python scripts/resolve.py                   a table; 1 where a Python or platform has none
    python scripts/resolve.py 3.14 linux-arm    these Pythons and platforms alone

The package and all extras are resolved together, and nothing is built from source. pip judges markers by the
Python that runs it, uv by the one that is asked for: `pip install uv` first. The index of packages is needed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PLATFORMS = {
    "linux-x86-64": "x86_64-unknown-linux-gnu",
    "linux-arm": "aarch64-unknown-linux-gnu",
    "macos-arm": "aarch64-apple-darwin",
    "windows-x86-64": "x86_64-pc-windows-msvc",
}
SHOWN = ("numpy", "scipy", "numba", "casadi", "cyipopt-wheels")


def supported_pythons() -> list[str]:
    """Minor versions of `requires-python`, ">=3.A,<3.B"."""
    first, end = map(int, re.findall(r"3\.(\d+)", PROJECT["requires-python"]))
    return [f"3.{minor}" for minor in range(first, end)]


def resolved(python: str, platform: str) -> dict[str, str]:
    """Version of every package by name; RuntimeError with uv's reason where some package has no wheel."""
    options = ["--python-version", python, "--python-platform", PLATFORMS[platform], "--only-binary", ":all:"]
    command = ["uv", "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--all-extras", *options]
    done = subprocess.run([*command, "pyproject.toml"], capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        raise RuntimeError(" ".join(done.stderr.split()))
    return dict(line.split("==") for line in done.stdout.splitlines() if "==" in line)


def main(wanted: list[str]) -> int:
    pythons = supported_pythons()
    for name in wanted:
        if name not in pythons and name not in PLATFORMS:
            sys.exit(f"{name!r} is neither one of {', '.join(pythons)} nor of {', '.join(PLATFORMS)}")
    pythons = [each for each in pythons if each in wanted] or pythons
    platforms = [each for each in PLATFORMS if each in wanted] or list(PLATFORMS)
    if shutil.which("uv") is None:
        sys.exit("uv is not on PATH, which resolves packages for another Python: pip install uv")
    missing = 0
    print(
        f"| Python | platform | packages | {' | '.join(SHOWN)} |\n| --- | --- | --- |{' --- |' * len(SHOWN)}"
    )
    for python in pythons:
        for platform in platforms:
            try:
                found = resolved(python, platform)
            except RuntimeError as error:
                missing += 1
                print(f"| {python} | {platform} | none: {error} |", flush=True)
                continue
            versions = " | ".join(found.get(name, "-") for name in SHOWN)
            print(f"| {python} | {platform} | {len(found)} | {versions} |", flush=True)
    return min(missing, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
