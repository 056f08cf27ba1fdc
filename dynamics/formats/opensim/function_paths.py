"""`load_function_paths` reads paths that a file of OpenSim states as polynomials (FunctionBasedPath)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from math import comb
from xml.etree.ElementTree import Element

import numpy as np

from dynamics.arguments import list_names
from dynamics.errors import OsimError, UrdfError
from dynamics.formats.opensim.elements import coordinate_named, name_of, number_of, numbers_of, text_of
from dynamics.formats.xml_source import xml_root
from dynamics.muscles.path_polynomials import PathSurrogate, all_exponents

POLYNOMIAL = "MultivariatePolynomialFunction"


def load_function_paths(path_or_xml: str | os.PathLike[str], joint_names: Sequence[str]) -> PathSurrogate:
    """The polynomials of a set of FunctionBasedPath, a path or XML from "<" on, for q in this order.

    joint_names : `robot.joint_names`. Moment arms are derivatives of lengths, whatever the file says of them.
    Names of muscles are the last parts of those in the file. Their errors are unknown (NaN). Raises OsimError
    for files without such paths, other functions, coordinates that are not given or come twice, orders that
    are no whole numbers, coefficients of another number.
    """
    try:
        root = xml_root(path_or_xml)
    except UrdfError as error:
        raise OsimError(str(error)) from error
    elements = list(root.iter("FunctionBasedPath"))
    if not elements:
        raise OsimError(f"the XML begins with <{root.tag}> and has no <FunctionBasedPath>")
    names, columns = list[str](), list[list[int]]()
    tables, weights = list[np.ndarray](), list[np.ndarray]()
    for element in elements:
        name = name_of(element, "a path").rpartition("/")[2]
        own, exponents, coefficients = _polynomial(element, f"path '{name}'", joint_names)
        names.append(name)
        columns.append(own)
        tables.append(exponents)
        weights.append(coefficients)
    k = max(map(len, columns))
    unknown = np.full(len(names), np.nan)
    return PathSurrogate(
        tuple(names), tuple(joint_names), np.array([own + [-1] * (k - len(own)) for own in columns]),
        np.zeros((len(names), k)), np.ones((len(names), k)), np.cumsum([0, *map(len, tables)]),
        np.concatenate([np.pad(table, ((0, 0), (0, k - table.shape[1]))) for table in tables]),
        np.concatenate(weights), unknown, unknown,
    )  # fmt: skip


def _polynomial(
    element: Element, where: str, joint_names: Sequence[str]
) -> tuple[list[int], np.ndarray, np.ndarray]:
    """Places of its coordinates in q, exponents and coefficients of one path."""
    paths = text_of(element, "coordinate_paths", what=where).split()
    given = [coordinate_named(path, joint_names, f"{where} follows") for path in paths]
    if not given:
        raise OsimError(f"{where} follows no coordinate: there are {list_names(joint_names)}")
    if len(set(given)) < len(given):
        raise OsimError(f"{where} follows {list_names(given)}: name every coordinate once")
    holder = element.find("length_function")
    function = None if holder is None else holder.find(POLYNOMIAL)
    if function is None:
        raise OsimError(f"{where} has no length_function that is a {POLYNOMIAL}; others are not read")
    order = number_of(function, "order", None, where)
    if order < 0.0 or order % 1.0:
        raise OsimError(f"{where} has a polynomial of order {order:g}: a whole number is expected")
    terms = comb(len(given) + int(order), len(given))
    written = text_of(function, "coefficients", what=where)
    coefficients = numbers_of(written, f"{where}: coefficients", terms)
    places = [list(joint_names).index(name) for name in given]
    return places, all_exponents(len(given), int(order)), coefficients
