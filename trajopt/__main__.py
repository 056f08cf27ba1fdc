"""`python -m trajopt` is the command `trajopt`, for environments whose scripts are not on the path."""

from __future__ import annotations

from importlib.metadata import entry_points


def main() -> None:
    """Run the command that the installed project registers; it lies in `problems`, above this package."""
    registered = list(entry_points(group="console_scripts", name="trajopt"))
    if not registered:
        raise SystemExit("the command trajopt is not installed: pip install -e . in the project's folder")
    registered[0].load()(prog_name="python -m trajopt")


if __name__ == "__main__":
    main()
