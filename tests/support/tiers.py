"""Parameters that belong to different tiers of the tests; many cases in one test."""

import functools
import inspect

import pytest


def fast_first(names, values, count=1, long=None, ids=None):
    """`pytest.mark.parametrize`: the first `count` values are fast, the next `long` or all others long.

    Those behind them are thorough.
    """
    several, cases = not isinstance(names, str) or "," in names, []
    for place, value in enumerate(values):
        marks = pytest.mark.thorough
        if place < count:
            marks = ()
        elif long is None or place < count + long:
            marks = pytest.mark.long
        cases.append(pytest.param(*(value if several else (value,)), marks=marks))
    return pytest.mark.parametrize(names, cases, ids=ids)


def long_first(names, values, count=1, ids=None):
    """`pytest.mark.parametrize`, where the first `count` values are long and the others thorough."""
    return fast_first(names, values, 0, count, ids)


def every(names, cases, fast=None):
    """One test of all these cases; `pytest.mark.parametrize` makes one of each, which costs pytest 4 ms.

    Those that fail are raised together, each with its values; one that skips leaves the others, and the test
    is skipped where all do. They share the fixtures of a test, so none may be among them that keeps something
    a case leaves behind. A function makes `cases` when the test runs.
    With `fast`, which the outermost of several may have, the first so many make a fast test and the others a
    long one.
    """
    names = [name.strip() for name in names.split(",")]

    def decorate(test):
        @functools.wraps(test)
        def test_of_all(cases_of_tier=cases, **fixtures):
            chosen = list(cases_of_tier() if callable(cases_of_tier) else cases_of_tier)
            assert chosen, "a test without a case cannot fail"
            errors, skipped = [], []
            for case in chosen:
                values = dict(zip(names, case if len(names) > 1 else (case,), strict=True))
                try:
                    test(**fixtures, **values)
                except pytest.skip.Exception as skip:
                    skipped.append(skip)
                except (Exception, pytest.fail.Exception) as error:
                    error.add_note(f"case: {values}")
                    errors.append(error)
            if errors:
                raise BaseExceptionGroup(f"{len(errors)} of {len(chosen)} cases", errors)
            if len(skipped) == len(chosen):
                raise skipped[0]

        signature = inspect.signature(test)
        parameters = [each for name, each in signature.parameters.items() if name not in names]
        if fast is not None:
            parameters.append(inspect.Parameter("cases_of_tier", inspect.Parameter.KEYWORD_ONLY))
        test_of_all.__signature__ = signature.replace(parameters=parameters)
        if fast is None:
            return test_of_all
        tiers = [list(cases)[:fast], list(cases)[fast:]]
        return fast_first("cases_of_tier", tiers, ids=["few", "others"])(test_of_all)

    return decorate
