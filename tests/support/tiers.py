"""Parameters of which some run in the fast tests, and the others in the long ones alone."""

import pytest


def fast_first(names, values, count=1, ids=None):
    """`pytest.mark.parametrize`, where only the first `count` values belong to the fast tests."""
    several = not isinstance(names, str) or "," in names
    cases = [
        value if place < count else pytest.param(*(value if several else (value,)), marks=pytest.mark.long)
        for place, value in enumerate(values)
    ]
    return pytest.mark.parametrize(names, cases, ids=ids)
