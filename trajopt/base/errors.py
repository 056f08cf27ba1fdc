"""Errors and warnings of the package; a solve that does not converge raises none, but has a `Status`.

TrajoptError (a ValueError)
├── ShapeError                 an array whose shape does not fit what it is for
├── NotFiniteError             NaN or infinity in data where a number is needed
├── OptionError                an unknown option, or a value of the wrong type or out of range
│   └── CallError              a call with arguments that a function does not take; also a TypeError
├── ProblemError               a problem that cannot be transcribed
│   ├── UnknownNameError       a joint, link, quantity or parameter that does not exist
│   ├── InfeasibleBoundsError  a lower bound above its upper bound, or a boundary value outside its limits
│   ├── DegreesOfFreedomError  more conditions on a trajectory than it has coefficients
│   ├── UnboundedError         a duration that is minimized while nothing limits the speed
│   ├── StructureError         a value that a compiled program has no place for
│   └── GraphCycleError        quantities that need each other
├── EvaluationError            a term that is NaN or infinite, or depends on more than its node
├── DerivativeError            a block whose derivatives are not those of its values
├── ClusterError               a cluster that does not answer, or whose workers have other versions
├── WorkerDiedError            a point whose worker died every time it was tried
├── ResultFolderError          a folder that another process writes, that cannot be written, or has no room
├── SolutionFileError          a file that is not a saved solution, or one of another problem or version
└── ShadowedPackageError       a user's file that has the name of a package and hides it; also an ImportError

DegreesWarning (UserWarning)   angles that look like degrees where radians are meant
KinkWarning (UserWarning)      a term whose value or slope jumps, which solvers cannot differentiate
LoopWarning (UserWarning)      values of joints of a closed loop that do not fit each other
OutsideTableWarning (UserWarning)  a table, or data, that a solution reads beyond its ends
ReachWarning (UserWarning)     a pose that is nearest to a target, which it does not reach

Text from files and users has its control characters escaped before it is printed on a terminal.

An escape sequence in a name could clear the screen, move the cursor or hide what stands before it; a mark
that turns the direction of writing could show letters in another order.
"""

from __future__ import annotations

import difflib
import math
import sys
import unicodedata
import warnings
from collections.abc import Collection, Iterable

LONGEST_NAME = 200  # characters; names are repeated in messages and files
OWN_PACKAGES = ("trajopt", "dynamics", "problems")
MOST_NEAR = 3  # names that a message suggests


class TrajoptError(ValueError):
    """The root: catch this to catch every misuse that trajopt reports.

    Its text spells control characters out: messages repeat names from files and users.
    """

    def __str__(self) -> str:
        return printable(super().__str__())


class ShapeError(TrajoptError):
    """An array has a shape that does not fit."""


class NotFiniteError(TrajoptError):
    """Data contain NaN or an infinity where a number is needed."""


class OptionError(TrajoptError):
    """An option is unknown, or its value has the wrong type or lies out of range."""


class CallError(OptionError, TypeError):
    """A function was called with an argument that it does not take, or without one that it needs."""


class ProblemError(TrajoptError):
    """A problem contradicts itself and cannot be transcribed."""


class UnknownNameError(ProblemError):
    """A joint, link, quantity or parameter with this name does not exist."""


class InfeasibleBoundsError(ProblemError):
    """No point can satisfy these bounds, whatever the solver does."""


class DegreesOfFreedomError(ProblemError):
    """A trajectory has fewer coefficients than conditions that it must meet."""


class UnboundedError(ProblemError):
    """The objective has no lowest value."""


class StructureError(ProblemError):
    """A value would need other unknowns, rows or sparsity than the program that was compiled."""


class GraphCycleError(ProblemError):
    """Quantities depend on each other in a circle."""


class EvaluationError(TrajoptError):
    """A term, or its derivative, is NaN or infinite where it was evaluated, or needs more than its node."""


class DerivativeError(TrajoptError):
    """A block of the user's own has derivatives that its values do not have."""


class ClusterError(TrajoptError):
    """A cluster cannot be used: it does not answer, has no workers, or workers with other versions."""


class WorkerDiedError(TrajoptError):
    """The process that worked on a call died every time it was tried: killed, or out of memory."""


class ResultFolderError(TrajoptError):
    """A folder cannot take results: another process writes it, it is read-only, or it has no room."""


class SolutionFileError(TrajoptError):
    """A file is not a saved solution that this version and problem can read."""


class ShadowedPackageError(TrajoptError, ImportError):
    """A user's own file, such as `dynamics.py`, has the name of a package and is imported in its place."""


class DegreesWarning(UserWarning):
    """A value of a revolute joint of more than two turns: degrees, perhaps, where radians are meant."""


class KinkWarning(UserWarning):
    """The value or the slope of a traced term jumps near the motion that a solve starts from."""


class LoopWarning(UserWarning):
    """Values at an end of the motion do not fit its closed loops, which determine some of them."""


class OutsideTableWarning(UserWarning):
    """A solution reads a table, or data, beyond its ends."""


class ReachWarning(UserWarning):
    """No pose was found that reaches a target: the nearest one is given."""


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """A warning at the line that called the packages, whatever of Python's library lies between."""
    level, frame = 2, sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame.f_back:
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package not in OWN_PACKAGES and package not in sys.stdlib_module_names:
            break
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _begin_alike(one: str, other: str) -> bool:
    """True if one name begins with the whole other: "tolerance" and "tol"."""
    shorter, longer = sorted((one, other), key=len)
    return len(shorter) > 2 and longer.startswith(shorter)


#: Words of other programs and of everyday speech -> the name that has their meaning here.
SYNONYMS = {
    **{"torque": "tau", "torques": "tau", "acceleration": "a", "velocity": "v", "velocities": "v"},
    **{"angle": "q", "angles": "q", "positions": "q", "qd": "v", "qdd": "a", "dq": "v", "ddq": "a"},
    **{"T": "duration", "tf": "duration", "final_time": "duration", "cost": "objective"},
    **{"minimize": "Problem", "OptimalControlProblem": "Problem", "load": "Solution"},
    **{"optimize": "solve", "optimise": "solve", "robot": "from_dh", "max": "maximum", "abs": "absolute"},
}


def near_matches(name: object, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: ` (did you mean 'tol'?)`, or nothing when none is near."""
    near = near_names(name, known)
    return f" (did you mean {' or '.join(repr(match) for match in near)}?)" if near else ""


def near_names(name: object, known: Iterable[str]) -> list[str]:
    """The known names that are near to one, the nearest first; few, or none."""
    # What is no name, or a text of many characters, is near to none; comparing is slow in their number.
    sought = name if isinstance(name, str) and len(name) <= LONGEST_NAME else ""
    names = list(known)
    near = [name for name in names if name == SYNONYMS.get(sought)]
    near += [name for name in difflib.get_close_matches(sought, names, n=MOST_NEAR) if name not in near]
    near += [name for name in names if name not in near and _begin_alike(sought, name)]
    return near[:MOST_NEAR]


def in_radians(angle: float) -> str:
    """The end of a message about an angle that may have been meant in degrees; empty within a turn."""
    if abs(angle) <= math.tau:
        return ""
    return f"; angles are in rad, and {angle:.6g} degrees are {math.radians(angle):.4g}"


SPELLED = ("Cc", "Cs", "Zl", "Zp")  # Unicode categories: controls, lone surrogates, separators of lines
DIRECTIONS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
LAYOUT = frozenset("\n\t")  # controls that texts of several lines are made of


def printable(text: str, kept: Collection[str] = LAYOUT) -> str:
    """A text of ours with names of others in it: new lines and tabs stay, other controls read as \\x1b."""
    if text.isprintable():
        return text
    return "".join(
        sign.encode("unicode_escape").decode() if sign not in kept and _obeyed(sign) else sign
        for sign in text
    )


def printable_name(text: str) -> str:
    """A name of others: without new lines too, which would let it write lines of its own."""
    return printable(text, kept=())


def _obeyed(sign: str) -> bool:
    """True if a terminal acts on a character instead of showing it."""
    return unicodedata.category(sign) in SPELLED or sign in DIRECTIONS
