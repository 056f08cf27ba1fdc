"""Objects that are no number, name or count, by the kind of argument they are wrong for."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np


class Hostile:
    """An object whose every conversion raises an error of its own."""

    def __repr__(self) -> str:
        raise RuntimeError("hostile")

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise KeyError("hostile")

    def __iter__(self) -> Any:
        raise OSError("hostile")

    def __bool__(self) -> bool:
        raise ArithmeticError("hostile")


class Empty:
    """An object without anything."""


# Made anew for each mutant, so that nothing a call changes reaches the next.
ANYTHING: Mapping[str, Callable[[], Any]] = {
    "object": Empty,
    "hostile": Hostile,
    "class": lambda: Empty,
    "function": lambda: len,
    "bytes": lambda: b"ab",
    "dictionary": lambda: {"a": 1},
    "date": lambda: datetime.date(2024, 1, 1),
    "records": lambda: np.zeros(2, dtype=[("x", float)]),
}
NO_NUMBERS: Mapping[str, Callable[[], Any]] = ANYTHING | {
    "text": lambda: "abc",
    "text of a number": lambda: "0.5",
    "text in a list": lambda: ["0.5", "0.5"],
    "None inside": lambda: [0.1, None],
    "masked": lambda: np.ma.masked_array([0.1, 0.2], mask=[False, True]),
    "masked number": lambda: np.ma.masked_array(0.5, mask=False),
    "dates": lambda: np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[D]"),
    "time differences": lambda: np.array([1, 2], dtype="timedelta64[s]"),
    "ragged": lambda: [[0.1], [0.1, 0.2]],
    "set": lambda: {0.1, 0.2},
    "huge integer": lambda: 10**400,
    "complex": lambda: 1.0 + 1.0j,
    "five axes": lambda: np.zeros((1, 2, 3, 4, 5)),
}
WRONG: Mapping[str, Mapping[str, Callable[[], Any]]] = {
    "array": NO_NUMBERS,
    "samples": {key: make for key, make in NO_NUMBERS.items() if key not in ("function", "class")},
    "times": {key: make for key, make in NO_NUMBERS.items() if key != "five axes"},
    "values": {key: make for key, make in NO_NUMBERS.items() if key != "None inside"},
    "duration": NO_NUMBERS | {"three": lambda: [0.5, 0.5, 0.5], "NaN": lambda: float("nan")},
    "number": NO_NUMBERS | {"list": lambda: [0.5, 0.5], "NaN": lambda: float("nan")},
    "count": ANYTHING
    | {
        "fraction": lambda: 1.5,
        "text": lambda: "3",
        "negative": lambda: -1,
        "a hundred billion": lambda: 10**11,
        "huge": lambda: 10**30,
        "NaN": lambda: float("nan"),
        "list": lambda: [3],
        "array": lambda: np.array([3, 4]),
    },
    "name": ANYTHING
    | {
        "number": lambda: 5,
        "unknown": lambda: "nobody of this name",
        "list of lists": lambda: [["elbow"]],
        "array of names": lambda: np.array([["elbow"], ["elbow"]]),
        "NaN": lambda: float("nan"),
    },
    "label": ANYTHING | {"number": lambda: 5, "list": lambda: ["a"]},
    "object": ANYTHING
    | {"number": lambda: 5, "text": lambda: "abc", "list": lambda: [1], "array": lambda: np.zeros(2)},
    "path": {key: make for key, make in ANYTHING.items()}
    | {"number": lambda: 5, "list": lambda: ["x.npz"], "empty": lambda: ""},
    "display": {key: make for key, make in ANYTHING.items() if key != "function"}
    | {"number": lambda: 5, "unknown": lambda: "nobody", "array": lambda: np.array(["auto", "live"])},
    "builder": {key: make for key, make in ANYTHING.items() if key not in ("function", "class")},
    "intervals": NO_NUMBERS | {"fraction": lambda: 1.5, "negative": lambda: -1, "huge": lambda: 10**30},
    "degree": ANYTHING | {"fraction": lambda: 1.5, "text": lambda: "3", "negative": lambda: -1},
    "flag": {"text": lambda: "no", "array": lambda: np.zeros(2), "object": Empty, "number": lambda: 2.5},
    "choice": ANYTHING
    | {"number": lambda: 5, "unknown": lambda: "nobody", "array": lambda: np.array(["path", "end"])},
}
NONE = {"None": lambda: None}


def wrong_for(kind: str) -> Mapping[str, Callable[[], Any]]:
    """The wrong objects of a kind; None among them unless the kind ends in "?"."""
    found = WRONG[kind.removesuffix("?")]
    return found if kind.endswith("?") else {**found, **NONE}
