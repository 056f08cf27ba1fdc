"""Functions of OpenSim's model files, of one coordinate, as `JointFunction`."""

from __future__ import annotations

from collections.abc import Callable
from xml.etree.ElementTree import Element

import numpy as np

from dynamics.couplings.joint_function import (
    JointFunction,
    fitted_cubics,
    piecewise_linear,
    polynomial,
)
from dynamics.errors import CouplingError, OsimError
from dynamics.formats.opensim.elements import number_of, numbers_of, text_of

IDENTITY_FUNCTION = polynomial([0.0, 1.0])


def has_function(element: Element) -> bool:
    """True if an element holds a function, of a kind that is read or not."""
    inner = element.find("function")
    children = list(element if inner is None else inner)
    return any(
        child.tag in READERS or child.get("name") == "function" or "Function" in child.tag
        for child in children
    )


def function_below(element: Element, what: str) -> JointFunction:
    """The function that is a child of an element, or in its <function>; OsimError for another kind."""
    inner = element.find("function")
    children = list(element if inner is None else inner)
    found = [child for child in children if child.tag in READERS]
    unread = [child.tag for child in children if child.get("name") == "function" or "Function" in child.tag]
    if not found:
        kinds = ", ".join(READERS)
        raise OsimError(f"{what} has {unread[0] if unread else 'no function'}; {kinds} are read")
    try:
        return READERS[found[0].tag](found[0], what)
    except CouplingError as error:
        raise OsimError(f"{what}: {error}") from error
    except RecursionError as error:
        raise OsimError(f"{what} has multiples of multiples without end: write one scale") from error


def _constant(element: Element, what: str) -> JointFunction:
    return polynomial([number_of(element, "value", "0", what)])


def _linear(element: Element, what: str) -> JointFunction:
    slope, shift = numbers_of(text_of(element, "coefficients", "1 0"), f"{what}: coefficients", 2)
    return polynomial([shift, slope])


def _polynomial(element: Element, what: str) -> JointFunction:
    highest_first = numbers_of(text_of(element, "coefficients", what=what), f"{what}: coefficients")
    if not highest_first.size:
        raise OsimError(f"{what}: the polynomial has no coefficients; write them, the highest power first")
    return polynomial(highest_first[::-1])


def _multivariate(element: Element, what: str) -> JointFunction:
    """A polynomial of several coordinates, read where there is one: the lowest power first."""
    count = int(number_of(element, "dimension", "0", what))
    if count != 1:
        raise OsimError(f"{what} is a polynomial of {count} coordinates; functions of one are read")
    return polynomial(numbers_of(text_of(element, "coefficients", what=what), f"{what}: coefficients"))


def _points(element: Element, what: str) -> tuple[np.ndarray, np.ndarray]:
    x, y = (numbers_of(text_of(element, tag, what=what), f"{what}: {tag}") for tag in ("x", "y"))
    return x, y


def _scaled(element: Element, what: str) -> JointFunction:
    scale = number_of(element, "scale", "1", what)
    return polynomial([0.0, scale]).of(function_below(element, what))


READERS: dict[str, Callable[[Element, str], JointFunction]] = {
    "Constant": _constant,
    "LinearFunction": _linear,
    "PolynomialFunction": _polynomial,
    "MultivariatePolynomialFunction": _multivariate,
    "PiecewiseLinearFunction": lambda element, what: piecewise_linear(*_points(element, what)),
    "SimmSpline": lambda element, what: fitted_cubics(*_points(element, what)),
    "MultiplierFunction": _scaled,
}
