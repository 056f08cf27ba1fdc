"""The files of a step of replanning as C: its interface, its tables, the terms, and the algorithm."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
from scipy import sparse

from trajopt.base.arguments import short_repr
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError
from trajopt.embedded.step_tables import StepTables
from trajopt.parametric.affine_program import Affine
from trajopt.parametric.node_terms import NodeTerms
from trajopt.parametric.replanning import TOLERANCE, WORST
from trajopt.solvers.newton.newton import FURTHER
from trajopt.solvers.solver import LITTLE

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
HEADERS = re.compile(  # of C99, of which another by the same name could be read in place
    "assert|complex|ctype|errno|fenv|float|inttypes|iso646|limits|locale|math|setjmp|signal|stdarg|stdbool|"
    "stddef|stdint|stdio|stdlib|string|tgmath|time|wchar|wctype"
)
UNIT = re.compile(r"[^A-Za-z0-9/^ .-]")  # what does not belong into a unit, as the end of a comment
PER_LINE = 8  # numbers


@dataclass(frozen=True)
class Named:
    """Numbers by name: the keyword of an input, names of its numbers, their units where these are known."""

    keyword: str
    labels: tuple[str, ...]
    units: tuple[str, ...]

    def __str__(self) -> str:
        units = self.units or ("",) * len(self.labels)
        named = zip(self.labels, units, strict=True)
        return ", ".join(
            identifier(label or self.keyword) + f" [{UNIT.sub('', unit)}]" * bool(unit)
            for label, unit in named
        )


@dataclass(frozen=True)
class Names:
    """Names in the files.

    name : with which functions begin
    times : s, at which there are states and controls
    functions : all that CasADi writes
    """

    name: str
    inputs: tuple[Named, ...]
    states: Named
    controls: Named
    times: tuple[float, ...]
    functions: tuple[Any, ...]


def check_prefix(name: str) -> None:
    """OptionError for a name that functions of C cannot begin with, or that one of its headers has."""
    if not (isinstance(name, str) and NAME.fullmatch(name)):
        raise OptionError(
            f"name is {short_repr(name)}: functions of C begin with it, give letters, digits and _"
        )
    if HEADERS.fullmatch(name.lower()):
        raise OptionError(f"name is {name!r}: {name.lower()}.h is a header of C, give another name")


def identifier(name: str) -> str:
    """Letters and digits of a name and _, other characters by their code: nothing else of it stands in C."""
    kept = re.compile(r"[A-Za-z0-9_]")
    encoded = "".join(
        each if kept.match(each) else "_" if each == " " else f"x{ord(each):x}" for each in name
    )
    return encoded if encoded[:1].isalpha() else f"n{encoded}"


def header(tables: StepTables, terms: NodeTerms, names: Names, elapsed: float) -> str:
    """NAME.h: the interface, with names, sizes and times."""
    nlp, name = tables.nlp, names.name
    n, m, nodes, width = tables.order.size, nlp.row_count, nlp.leaf_map.nodes, nlp.leaf_map.width
    quantities, both, envelope = nlp.chain.used_count, n + m, int(_envelope(tables)[1])
    enums, at = [], 0
    for each in names.inputs:
        own = identifier(each.keyword)
        several = sum(identifier(other.keyword) == own for other in names.inputs) > 1
        enums.append(f"    {name}_input_{own}{f'_{at}' * several} = {at}, /* {each} */")
        at += len(each.labels)
    limits = both + tables.bounded.size
    longest = max((each.places.shape[1] for each in terms.seconds), default=0)
    work = {
        **{"inputs": at, "y": n, "mu": both, "offset": nodes * width, "leaves": nodes * width},
        **{"quantities": nodes * quantities, "adjoints": nodes * quantities, "rows": m, "gradient": n},
        **{"slopes": nodes * terms.slope_places.shape[1], "second": longest},
        **{"J": tables.jacobian.nnz, "line": n, "length": both, "H": envelope, "L": envelope, "inverse": n},
        **{"lower": limits, "upper": limits, "low": both, "high": both, "unit_mu": both, "z": both},
        **{"right": n, "rest": n, "step": n, "slope": n, "of_limits": both, "missed": both},
        "planned": tables.samples[0].outputs.constant.size,
        "node_work": max(each.sz_w() for each in names.functions),
    }
    arrays = "\n".join(f"    double {key}[{max(size, 1)}];" for key, size in work.items())
    integers = max(each.sz_iw() for each in names.functions)
    times = ", ".join(map(repr, names.times))
    return f"""/* {name}: one step of a receding horizon, every {elapsed!r} s, of {n} unknowns and {m} rows.
 *
 *     gcc -O2 -c {name}_step.c {name}_terms.c
 *
 *     static {name}_plan plan;
 *     {name}_start(&plan);
 *     while (running) {{
 *         status = {name}_step(&plan, inputs, 1);          one sample after the step before
 *         {name}_outputs(&plan, states, controls);
 *     }}
 *
 * Units are those of the problem. A plan is a struct of its own; it is large, so keep it off the stack.
 * A plan that goes on ages. Where no step leads on from it, as after an input that was wrong, the step begins
 * at the plan that was written, which takes as long again.
 */
#ifndef {name}_h_included
#define {name}_h_included

#ifdef __cplusplus
extern "C" {{
#endif

/* inputs[{at}]: the place of the first number of each, and the names of all */
enum {{
{chr(10).join(enums)}
    {name}_inputs = {at}
}};

/* states[times][states]: {names.states}
 * controls[times][controls]: {names.controls}
 * times: {times} s after the state that was given last */
enum {{
    {name}_times = {len(names.times)},
    {name}_states = {len(names.states.labels)},
    {name}_controls = {len(names.controls.labels)}
}};

typedef enum {{
    {name}_new = 0,        /* a new plan */
    {name}_bad_input = 1,  /* an input is not finite, limits contradict each other, or samples < 0 */
    {name}_infeasible = 2, /* rows violated by more than {WORST:g} of their scale after {FURTHER + 1} steps */
    {name}_no_step = 3     /* limits cannot be met, or no minimum is near */
}} {name}_status;          /* but for 0 the plan before goes on */

typedef struct {{
    struct {{
        double y[{n}], multipliers[{both}], inputs[{at}];
        double violation; /* of rows and bounds, the largest, in multiples of their scales */
        int age;          /* samples, {len(tables.samples) - 1} at most */
    }} plan;
    /* all further members are memory of {name}_step and {name}_outputs */
{arrays}
    struct {{ double d[{n}], mu[{both}], tau; signed char side[{both}]; }} tried, best;
    double gap[2][{both}], rate[2][{both}], closing[2][{both}], weight, size;
    signed char side[{both}], first_side[{both}];
    int active[{both}], actives;
    long long int node_integers[{max(integers, 1)}];
}} {name}_plan;

/* The plan that was written with the program. */
void {name}_start({name}_plan *plan);

/* A step from the plan before, for inputs measured so many samples of {elapsed!r} s after it,
 * from 0 on. What is not finite must stay so: no -ffast-math. */
{name}_status {name}_step({name}_plan *plan, const double *inputs, int samples);

/* States and controls of the plan. */
void {name}_outputs({name}_plan *plan, double *states, double *controls);

#ifdef __cplusplus
}}
#endif

#endif
"""


def tables_source(tables: StepTables, terms: NodeTerms, names: Names) -> str:
    """NAME_tables.h: all constants."""
    nlp, name, weights = tables.nlp, names.name, tables.row_weights
    linear = int(tables.jacobian.indptr[nlp.linear.count])
    sizes = {
        **{"UNKNOWNS": tables.order.size, "ROWS": nlp.row_count, "LINEAR_ROWS": nlp.linear.count},
        **{"LINEAR_ENTRIES": linear, "NODES": nlp.leaf_map.nodes, "LEAVES": nlp.leaf_map.width},
        **{"QUANTITIES": nlp.chain.used_count, "SLOPES": terms.slope_places.shape[1]},
        **{"PARTS": len(terms.seconds), "INPUTS": tables.inputs.size, "FURTHER_BOUNDS": tables.bounded.size},
        **{
            "TIMES": len(names.times),
            "STATES": len(names.states.labels),
            "CONTROLS": len(names.controls.labels),
        },
        **{
            "OUTPUTS": tables.samples[0].outputs.constant.size // len(names.times),
            "MOST_SAMPLES": len(tables.samples) - 1,
        },
        **{"FURTHER": FURTHER, "WORST": repr(WORST), "STRONG": repr(float(np.sqrt(TOLERANCE)))},
        **{"LITTLE": repr(LITTLE * TOLERANCE)},
    }
    macros = {
        **{"STEP_PLAN": "plan", "STEP_STATUS": "status", "STEP_START": "start", "STEP_STEP": "step"},
        **{"STEP_OUTPUTS": "outputs", "STEP_NEW": "new", "STEP_BAD_INPUT": "bad_input"},
        **{"STEP_INFEASIBLE": "infeasible", "STEP_NO_STEP": "no_step"},
        **{"NODE_VALUES": "values", "NODE_SLOPES": "slopes", "OUTPUT_CONTROLS": "controls_at"},
    }
    arguments = "const double **, double **, long long int *, double *, int"
    lines = [f"#define {key} {value}" for key, value in sizes.items()]
    lines += [f"#define {key} {name}_{value}" for key, value in macros.items()]
    lines += [f"int {each.name()}({arguments});" for each in names.functions]
    parts = ", ".join(each.function.name() for each in terms.seconds) or "0"
    lines.append(f"static int (*const PART_FUNCTIONS[])({arguments}) = {{{parts}}};")
    places = np.concatenate([np.zeros((2, 0), dtype=int), *(each.places for each in terms.seconds)], axis=1)
    starts = np.cumsum([0, *(each.places.shape[1] for each in terms.seconds)])
    lines += [
        *_matrix("B", tables.B),
        *_affine("OFFSET", tables.offset),
        *_affine("LOWER", tables.lower),
        *_affine("UPPER", tables.upper),
        _array("BOUNDED", tables.bounded),
        _array("ROW_STARTS", weights.indptr),
        _array("ROW_PLACES", weights.indices),
        _array("ROW_VALUES", weights.data),
        _array("OBJECTIVE", nlp.objective_weights),
        _array("SLOPE_STARTS", np.searchsorted(terms.slope_places[0], np.arange(nlp.chain.used_count + 1))),
        _array("SLOPE_LEAVES", terms.slope_places[1]),
        _array("PART_FIRST", np.array([each.weights.start for each in terms.seconds], dtype=int)),
        _array(
            "PART_WIDTHS",
            np.array([each.weights.stop - each.weights.start for each in terms.seconds], dtype=int),
        ),
        _array("SECOND_STARTS", starts),
        _array("SECOND_ROWS", places[0]),
        _array("SECOND_COLUMNS", places[1]),
        _array("J_STARTS", tables.jacobian.indptr),
        _array("J_COLUMNS", tables.jacobian.indices),
        _array("LINEAR_VALUES", tables.jacobian.data[:linear]),
        _array("FIRST", tables.first),
        _array("ENVELOPE", _envelope(tables)[0]),
        _array("START", tables.y),
        _array("START_MULTIPLIERS", tables.multipliers),
        _array("START_INPUTS", tables.inputs),
    ]
    of_samples = [
        {
            **_parts("SHIFT", each.by_plan),
            **_parts("BEFORE", each.by_before),
            **_parts("NOW", each.start.matrix),
            **{"SHIFT_CONSTANT": each.start.constant, "SOURCES": each.sources, "FACTORS": each.factors},
            **_parts("OUTPUT", each.outputs_by_plan),
            **_parts("PLANNED", each.outputs.matrix),
            "OUTPUT_CONSTANT": each.outputs.constant,
        }
        for each in tables.samples
    ]
    for key in of_samples[0]:
        arrays = [each[key] for each in of_samples]
        lines += [_array(f"{key}_{k}", each) for k, each in enumerate(arrays)]
        kind = "double" if arrays[0].dtype.kind == "f" else "int"
        lines.append(
            f"static const {kind} *const {key}[] = {{{', '.join(f'{key}_{k}' for k in range(len(arrays)))}}};"
        )
    return "\n".join(lines) + "\n"


def step_source(name: str) -> str:
    """NAME_step.c: the algorithm, which is the same for all programs."""
    text = (files("trajopt.embedded") / "step.c").read_text(encoding="ascii")
    return text.replace('"step.h"', f'"{name}.h"').replace('"tables.h"', f'"{name}_tables.h"')


def _envelope(tables: StepTables) -> tuple[Array, Array]:
    """The place that column 0 of every row of the triangle would have, and the number of its entries."""
    rows = np.arange(tables.first.size)
    ends = np.cumsum(rows - tables.first + 1)
    return ends - rows - 1, ends[-1]


def _parts(name: str, matrix: sparse.csr_array) -> dict[str, Array]:
    return {f"{name}_STARTS": matrix.indptr, f"{name}_COLUMNS": matrix.indices, f"{name}_VALUES": matrix.data}


def _matrix(name: str, matrix: sparse.csr_array) -> list[str]:
    return [_array(key, part) for key, part in _parts(name, matrix).items()]


def _affine(name: str, of: Affine) -> list[str]:
    return [_array(name, of.constant), *_matrix(name, of.matrix)]


def _array(name: str, values: Array) -> str:
    given = values if values.size else np.zeros(1, dtype=values.dtype)
    if given.dtype.kind == "f":
        kind, written = "double", [_number(each) for each in given.tolist()]
    else:
        kind, written = "int", [str(each) for each in given.tolist()]
    lines = [", ".join(written[i : i + PER_LINE]) for i in range(0, len(written), PER_LINE)]
    return f"static const {kind} {name}[{len(written)}] = {{\n{(',' + chr(10)).join(lines)}}};"


def _number(value: float) -> str:
    if np.isinf(value):
        return "INFINITY" if value > 0.0 else "-INFINITY"
    return repr(value)
