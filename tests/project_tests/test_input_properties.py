"""Properties of inputs that hold for whatever Hypothesis finds: a typed error, or the right answer."""

import csv
import io
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from urdf_text import joint, link, robot

import dynamics
from dynamics.arguments import real_array
from problems.cli.literal import assignment, literal
from problems.human.body.tables import checked_rows, number
from trajopt.base.arguments import numbers
from trajopt.base.errors import ProblemError, TrajoptError

pytestmark = pytest.mark.long

repeatable = settings(max_examples=75, deadline=None, derandomize=True, database=None)
finite = st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | finite | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=6,
)


@repeatable
@given(st.text(max_size=60))
def test_any_text_is_refused_as_a_robot(text):
    with pytest.raises(dynamics.DynamicsError):
        dynamics.load_urdf(f"<{text}")


@repeatable
@given(st.text(max_size=12) | finite.map(repr))
def test_a_number_of_a_urdf_is_what_python_reads_or_refused(text):
    escaped = text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    source = robot(link("a", ""), link("b"), joint("j", "a", "b", content=f'<dynamics damping="{escaped}"/>'))
    try:
        damping = dynamics.load_urdf(source).joints[0].damping
    except dynamics.DynamicsError:
        return
    assert damping == float(text) and damping >= 0.0


@repeatable
@given(json_values)
def test_any_json_is_refused_as_a_model(content):
    with pytest.raises(dynamics.ModelError):
        dynamics.RigidBodyModel.from_json(json.dumps(content))


@repeatable
@given(st.text(max_size=5), json_values)
def test_an_entry_of_a_saved_model_is_taken_exactly_or_refused(key, value):
    content = json.loads(dynamics.load_urdf(robot(link("a", ""), link("b"), joint("j", "a", "b"))).to_json())
    content["bodies"][0]["joint"][key or "offset"] = value
    try:
        model = dynamics.RigidBodyModel.from_json(json.dumps(content))
    except dynamics.DynamicsError:
        return
    assert model.joints[0].offset == float(value)


@repeatable
@given(anything)
def test_arrays_are_of_numbers_or_refused(value):
    for check in (lambda: numbers(value, "x"), lambda: real_array(value, "x")):
        try:
            found = check()
        except (TrajoptError, dynamics.DynamicsError):
            continue
        assert found.dtype == float
        flat = np.ravel(np.array(value, dtype=object)).tolist() if isinstance(value, list) else [value]
        assert all(isinstance(each, int | float) for each in flat if not isinstance(each, list))


@repeatable
@given(st.text(min_size=1, max_size=20))
def test_a_value_typed_at_the_command_line_is_read_or_refused(text):
    try:
        value = literal(text)
    except TrajoptError:
        return
    assert value is None or isinstance(value, bool | int | float | str | list)
    if isinstance(value, float) and math.isfinite(value):
        assert literal(repr(value)) == value


@repeatable
@given(st.text(max_size=20))
def test_an_assignment_has_a_name_and_a_value_or_is_refused(text):
    try:
        name, _ = assignment(text)
    except TrajoptError:
        return
    assert name.isidentifier() and "=" in text


@repeatable
@given(st.lists(finite, min_size=1, max_size=5), st.text(max_size=15))
def test_tables_give_the_numbers_that_were_written_or_are_refused(values, cell):
    stream = io.StringIO()
    csv.writer(stream).writerows([["x", "y"], *[[repr(value), "1"] for value in values]])
    assert [number(row, "x") for row in checked_rows(stream.getvalue(), "t", ["x", "y"])] == values
    try:
        rows = checked_rows(f"x,y\n{cell},1\n", "t", ["x", "y"])
        found = [number(row, "x") for row in rows]
    except ProblemError:
        return
    assert all(math.isfinite(each) for each in found)
