"""Complete problems, each a module with `build(**parameters)`, and the command line that solves them.

The only package that knows both `dynamics` and `trajopt`. To write a problem, copy `pendulum_swing_up.py`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    """Import `problems.two_link_rr` on first use, so that `import problems` is all that a user types."""
    from problems.catalogue import names

    if name in names():
        return import_module(f"problems.{name}")
    raise AttributeError(f"module 'problems' has no problem {name!r}: there are {', '.join(names())}")
