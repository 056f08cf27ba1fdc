"""`layer`: an optimum as a function of a compiled program's inputs, with exact derivatives.

With the unknowns x(p) of the optimum for the numbers p (m,) of the inputs, an output o = o(x, p) has

    do/dp = do/dx dx/dp        and a cotangent w of it gives the vector-Jacobian product w' do/dp

dx/dp solves the linearised optimality conditions (`parametric/sensitivity.py`). One factorization serves all
numbers, and what remains of them, their explicit changes of the program, is needed for w' do/dp as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trajopt.adapters.stacked_function import Foreign, library_of
from trajopt.api.compiled_program import CompiledProgram
from trajopt.base import arguments
from trajopt.base.arrays import Array
from trajopt.base.errors import EvaluationError, OptionError, ShapeError
from trajopt.parametric.inputs import Input, LimitInput
from trajopt.parametric.sensitivity import derivative_of_unknowns
from trajopt.problem.phases import Phases
from trajopt.problem.problem import Problem
from trajopt.solution.solution import Solution
from trajopt.splines.basis import Curve

PLACES = tuple(np.linspace(0.0, 1.0, 21).tolist())
Jacobians = Mapping[str, Mapping[str, NDArray[np.float64]]]


@dataclass(frozen=True, eq=False)
class Optimum:
    """Outputs of an optimum and their derivatives by the inputs that were given.

    values : output -> its value
    jacobians : output -> input -> derivative, of the shapes of both, one behind the other
    """

    solution: Solution
    values: Mapping[str, NDArray[np.float64]]
    jacobians: Jacobians

    def pullback(self, cotangents: Mapping[str, ArrayLike]) -> dict[str, NDArray[np.float64]]:
        """Vector-Jacobian products, input -> sum over outputs of w' do/dp, for cotangents output -> w.

        Raises UnknownNameError for what is no output, ShapeError for a cotangent of another shape.
        """
        found: dict[str, NDArray[np.float64]] = {}
        for output, given in cotangents.items():
            arguments.check_known("output", output, self.values)
            w, shape = arguments.numbers(given, f"the cotangent of {output}"), self.values[output].shape
            if w.shape != shape:
                raise ShapeError(f"the cotangent of {output} has shape {w.shape}: expected {shape}")
            for name, jacobian in self.jacobians[output].items():
                found[name] = found.get(name, 0.0) + np.tensordot(w, jacobian, w.ndim)
        return found


@dataclass(frozen=True, eq=False)
class Layer:
    """An optimum as a function of inputs; see `layer`."""

    compiled: CompiledProgram[Solution]
    inputs: tuple[Input, ...]
    at: Array
    outputs: tuple[str, ...]
    start: Solution | None

    def __call__(self, **inputs: ArrayLike) -> Optimum:
        """The optimum for these inputs, by NumPy; those that are not named keep the problem's values.

        Raises EvaluationError where no optimum is found, or where it has no derivative; OptionError for what
        is no input, ShapeError and NotFiniteError for what is no value of it.
        """
        solution, chosen = self._solved(inputs)
        derivative = derivative_of_unknowns(solution, self.compiled.structure, chosen)
        values, layout = self._values(solution), derivative.layout
        tangents: dict[str, Array] = {"objective": derivative.objective}
        tangents["duration"] = derivative.dx[layout.durations].sum(axis=0)
        for name, place in layout.parameters.items():
            tangents[name] = derivative.dx[place]
        of_curves = [name for name in self.outputs if name in self._leaves]
        if of_curves:
            columns = [
                self._curve_tangents(solution.curve, layout.curve(column))
                for column in map(np.ascontiguousarray, derivative.dx.T)
            ]
            tangents |= {name: np.stack([each[name] for each in columns], axis=-1) for name in of_curves}
        ends = np.cumsum([each.numbers(self.compiled.problem).size for each in chosen])
        jacobians = {}
        for output in self.outputs:
            cut = np.split(tangents[output], ends[:-1], axis=-1)
            shapes = [values[output].shape + self._shape(each) for each in chosen]
            jacobians[output] = {
                each.keyword: part.reshape(shape)
                for each, part, shape in zip(chosen, cut, shapes, strict=True)
            }
        return Optimum(solution, values, jacobians)

    def torch(self, **inputs: Foreign) -> dict[str, Foreign]:
        """Outputs as tensors in float64, through which `backward` reaches inputs that require it."""
        torch, names = library_of("torch", "torch", "a layer of PyTorch"), tuple(inputs)

        class Solve(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Foreign, *tensors: Foreign) -> Foreign:
                given = {
                    name: np.asarray(tensor.detach().cpu().numpy(), dtype=float)
                    for name, tensor in zip(names, tensors, strict=True)
                }
                if any(ctx.needs_input_grad):
                    ctx.optimum, ctx.kinds = self(**given), [(each.dtype, each.device) for each in tensors]
                    values = ctx.optimum.values
                else:
                    values = self._values(self._solved(given)[0])
                return tuple(torch.tensor(values[name], dtype=torch.float64) for name in self.outputs)

            @staticmethod
            def backward(ctx: Foreign, *cotangents: Foreign) -> Foreign:
                of_outputs = {name: w.numpy() for name, w in zip(self.outputs, cotangents, strict=True)}
                found = ctx.optimum.pullback(of_outputs)
                return tuple(
                    torch.tensor(found[name], dtype=dtype, device=device)
                    for name, (dtype, device) in zip(names, ctx.kinds, strict=True)
                )

        tensors = [torch.as_tensor(each) for each in inputs.values()]
        return dict(zip(self.outputs, Solve.apply(*tensors), strict=True))

    def jax(self, **inputs: Foreign) -> dict[str, Foreign]:
        """Outputs as arrays of JAX, for `jax.grad` and `jax.jit`, in its default precision."""
        jax = library_of("jax", "jax", "a layer of JAX")
        kind = jax.numpy.zeros(()).dtype
        shapes = self._shapes()
        of_outputs = {name: jax.ShapeDtypeStruct(shapes[name], kind) for name in self.outputs}
        widths = {name: self._shape(self._input(name)) for name in inputs}
        of_jacobians = {
            output: {
                name: jax.ShapeDtypeStruct(shapes[output] + width, kind) for name, width in widths.items()
            }
            for output in self.outputs
        }

        def in_numpy(given: Foreign) -> dict[str, Array]:
            return {name: np.asarray(value, dtype=float) for name, value in given.items()}

        def cast(found: Foreign) -> Foreign:
            return jax.tree.map(lambda each: np.asarray(each, dtype=kind), found)

        def values_of(given: Foreign) -> Foreign:
            return cast(self._values(self._solved(in_numpy(given))[0]))

        def values_and_jacobians_of(given: Foreign) -> Foreign:
            optimum = self(**in_numpy(given))
            return cast((dict(optimum.values), {key: dict(each) for key, each in optimum.jacobians.items()}))

        def called(function: Foreign, shape: Foreign, given: Foreign) -> Foreign:
            return jax.pure_callback(function, shape, given, vmap_method="sequential")

        def backward(jacobians: Foreign, cotangents: Foreign) -> Foreign:
            products = [
                {name: jax.numpy.tensordot(w, each, w.ndim) for name, each in jacobians[output].items()}
                for output, w in cotangents.items()
            ]
            return (jax.tree.map(lambda *parts: sum(parts), *products),)

        solve = jax.custom_vjp(lambda given: called(values_of, of_outputs, given))
        both = (of_outputs, of_jacobians)
        solve.defvjp(lambda given: called(values_and_jacobians_of, both, given), backward)
        return solve({name: jax.numpy.asarray(value, dtype=kind) for name, value in inputs.items()})

    @property
    def _leaves(self) -> Mapping[str, Any]:
        return self._problem.spline_leaves

    @property
    def _problem(self) -> Problem:
        problem = self.compiled.problem
        assert isinstance(problem, Problem)  # `layer` refuses phases
        return problem

    def _solved(self, given: Mapping[str, ArrayLike]) -> tuple[Solution, list[Input]]:
        problem = self.compiled.problem.independent_copy()
        chosen: list[Input] = []
        if not given:
            raise OptionError(f"no input is given: {', '.join(each.keyword for each in self.inputs)}")
        for name, value in given.items():
            each = self._input(name)
            numbers, shape = arguments.finite_numbers(value, f"the input {name}"), self._shape(each)
            if numbers.shape != shape:
                raise ShapeError(
                    f"the input {name} has shape {numbers.shape}: expected {shape}, "
                    f"{', '.join(each.labels) or 'a number'}"
                )
            each.put_numbers(problem, np.atleast_1d(numbers))
            chosen.append(each)
        solution = self.compiled.solve_problem(problem, start=self.start, inputs=given)
        if not solution.converged:
            raise EvaluationError(
                f"no optimum was found for these inputs, {solution.status}: give layer(..., start=) "
                "a solution near them, or change them less"
            )
        return solution, chosen

    def _input(self, name: str) -> Input:
        by_name = {each.keyword: each for each in self.inputs}
        arguments.check_known("input of this layer", name, by_name)
        return by_name[name]

    def _shape(self, each: Input) -> tuple[int, ...]:
        size = each.numbers(self.compiled.problem).size
        return () if size == 1 else (size,)

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of all outputs that there may be."""
        problem = self._problem
        shapes: dict[str, tuple[int, ...]] = {"objective": (), "duration": ()}
        shapes |= {name: (each.lower.size,) for name, each in problem.parameters.items()}
        every = np.arange(problem.dynamics.n + sum(problem.extra_widths.values()))
        for name, leaf in problem.spline_leaves.items():
            shapes[name] = (self.at.size, every[leaf.curves].size)
        return shapes

    def _values(self, solution: Solution) -> dict[str, NDArray[np.float64]]:
        known = {"objective": solution.objective, "duration": solution.duration, **solution.parameters}
        leaves = solution.leaves(_seconds(solution.curve, self.at))
        return {name: np.asarray((leaves if name in self._leaves else known)[name]) for name in self.outputs}

    def _curve_tangents(self, curve: Curve, change: Curve) -> dict[str, Array]:
        """Change of q, v, a ... at the places per unit of a number, whose change of the curve is `change`.

        Of B_l(s) P / T^l with l the order, at fixed s: B_l dP / T^l - l (B_l P / T^l) dT / T.
        """
        orders = {self._leaves[name].order for name in self.outputs if name in self._leaves}
        times, arcs = _seconds(curve, self.at), len(curve.durations)
        moved = replace(change, durations=curve.durations).derivatives(times, orders)
        before = curve.derivatives(times, orders)
        arc = np.minimum((self.at * arcs).astype(int), arcs - 1)
        rate = (change.durations / curve.durations)[arc][:, None]
        return {
            name: (moved[leaf.order] - leaf.order * rate * before[leaf.order])[:, leaf.curves]
            for name, leaf in self._leaves.items()
            if name in self.outputs
        }


def layer(
    compiled: CompiledProgram[Solution],
    inputs: Sequence[str] | None = None,
    *,
    outputs: Sequence[str] = ("objective", "duration", "q"),
    at: ArrayLike = PLACES,
    start: Solution | None = None,
) -> Layer:
    """An optimum as a function of inputs of its compiled program, with exact derivatives.

        layer = trajopt.layer(trajopt.compile(problem), ["weight_effort", "q_end"], outputs=["q"])
        optimum = layer(weight_effort=0.2)                   # NumPy: .values["q"] (21, n), .pullback(...)
        motion = layer.torch(weight_effort=weight)["q"]      # loss.backward() reaches `weight`
        motion = layer.jax(weight_effort=weight)["q"]        # inside jax.grad and jax.jit

    compiled : of a single problem
    inputs : keywords of the inputs, as `print(compiled)` lists them; None: all that are numbers. The value of
        one is a number or (m,): fixed values, then lower limits, then upper limits
    outputs : "objective", "duration", names of parameters, "q", "v", "a", "jerk" and "extra:NAME" (k, width)
    at : the k normalised times of curves, from 0 to 1 over the whole motion, every arc counted alike
    start : a solution from which every solve starts; None: the guess

    Derivatives are exact to rounding while the same limits stay active, and one-sided where one is just
    reached (`Solution.sensitivity` tells which). Raises OptionError for phases, for data, and for velocities
    at an end that the compilation did not name.
    """
    arguments.check_instance("compiled", compiled, CompiledProgram, "trajopt.compile(problem)")
    problem = compiled.problem
    if isinstance(problem, Phases):
        raise OptionError("a layer is of a single problem, not of phases: compile one of them")
    if inputs is None:
        chosen = tuple(each for each in compiled.inputs if _has_numbers(each, problem))
    else:
        chosen = tuple(dict.fromkeys(compiled.inputs.find(name) for name in inputs))
        for each in chosen:
            each.numbers(problem)  # refuses data
            if isinstance(each, LimitInput) and each.unchanging.any():
                raise OptionError(
                    f"{each.keyword} stands in equations that were eliminated: "
                    f"trajopt.compile(problem, inputs=['{each.keyword}', ...])"
                )
    places = arguments.finite_numbers(at, "the normalised times").ravel()
    if places.size and not (places.min() >= 0.0 and places.max() <= 1.0):
        raise OptionError(f"normalised times from {places.min():g} to {places.max():g}: expected 0 to 1")
    made = Layer(compiled, chosen, places, tuple(outputs), start)
    for name in made.outputs:
        arguments.check_known("output", name, made._shapes())
    return made


def _has_numbers(each: Input, problem: Problem) -> bool:
    """True for an input that is not data and that this compilation may change."""
    if isinstance(each, LimitInput) and each.unchanging.any():
        return False
    try:
        each.numbers(problem)
    except OptionError:
        return False
    return True


def _seconds(curve: Curve, at: Array) -> Array:
    return np.minimum(curve.time_at(at * len(curve.durations)), curve.duration)
