"""Terms: ready ones (`q`, `position("foot")` ...), traced from user functions, or of a user's class.

A class computes value and derivatives with NumPy, without tracing.

Pictures show objects around the robot beside a term: an obstacle, or a target.
"""

# Guards are for callers without a type checker.
# pyright: reportUnnecessaryIsInstance=false
from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from trajopt.base import arguments
from trajopt.base.arguments import is_whole, short_repr
from trajopt.base.errors import OptionError, ShapeError, UnknownNameError
from trajopt.graph.graph import NamedBlock, completed
from trajopt.graph.protocols import Block, NodeFunction, Term
from trajopt.graph.quantities import described, extra_leaf, own_term, parameter_leaf
from trajopt.terms.arithmetic import Arithmetic, documented

if TYPE_CHECKING:
    from trajopt.graph.expression import Expression
    from trajopt.graph.trace import NodeSymbols

EntryT = TypeVar("EntryT")


class KnownByName(Arithmetic):
    """A term whose name says all: its quantity is called by it."""

    @property
    def quantity(self: Term) -> str:
        return own_term(self.name)


@dataclass(frozen=True)
class Quantity(Arithmetic):
    """A term that is a quantity of the problem as it is: a leaf or an output of the dynamics."""

    quantity: str

    def __post_init__(self) -> None:
        if not isinstance(self.quantity, str):
            raise UnknownNameError(f"no quantity is called {short_repr(self.quantity)}: give a name")
        documented(self, self.description)

    @overload
    def __getitem__(self, component: int) -> ComponentTerm: ...
    @overload
    def __getitem__(self, component: slice) -> SliceTerm: ...
    @overload
    def __getitem__(self, component: int | slice) -> ComponentTerm | SliceTerm: ...
    def __getitem__(self, component: int | slice) -> ComponentTerm | SliceTerm:
        """One component as a term, (1,), or several: `trajopt.q[1]`, `trajopt.tau[6:]` from the seventh on.

        Raises OptionError for what is neither a number nor a slice of numbers.
        """
        if isinstance(component, slice) and is_slice(component):
            return slice_term(self.quantity, sides(component))
        if isinstance(component, slice) or not is_whole(component):
            raise OptionError(
                f"{self.quantity}[{short_repr(component)}]: give the number of a component, from 0, or a "
                "slice of them, [6:]; that of a joint is list(model.joint_names).index('elbow'), and x, y, z "
                "are 0, 1, 2"
            )

        def chosen(node: NodeSymbols) -> Expression:
            from trajopt.graph.trace import column_of

            return column_of(node, self.quantity)[int(component)]

        name = f"{self.quantity}[{int(component)}]"
        return ComponentTerm(chosen, name, base=self.quantity, component=int(component))

    @property
    def name(self) -> str:
        return self.quantity

    @property
    def description(self) -> str:
        """Meaning, shape and unit: "joint positions, (n,), rad or m"."""
        return described(self.quantity)

    def blocks(self, width_of: Callable[[str], int]) -> tuple[Block, ...]:
        return ()


@dataclass(frozen=True)
class ExpressionTerm(KnownByName):
    """A term y = f(quantities of a node), f a user's function that is traced once; see `trajopt.term`.

    components : names of the components; empty: the joints' names if there is one for each, or numbers
    unit : for reports, of all components or one each; empty where none is given
    scene : the object that pictures show of it
    """

    function: NodeFunction
    name: str
    components: tuple[str, ...] = ()
    unit: str | tuple[str, ...] = ""
    scene: Capsule | Target | None = None

    def __post_init__(self) -> None:
        arguments.check_function("what @trajopt.term decorates", self.function)
        if self.function.__doc__:
            documented(self, self.function.__doc__)

    def blocks(self, width_of: Callable[[str], int]) -> tuple[Block, ...]:
        from trajopt.graph.trace import trace

        return (trace(self.function, self.quantity, width_of),)

    def __getitem__(self, component: int | slice) -> ExpressionTerm:
        """One component as a term, (1,), or several: `force[2]`, `force[:2]`.

        Raises OptionError for what is neither a number nor a slice of numbers; when traced, where there is no
        such component.
        """
        if not (is_slice(component) if isinstance(component, slice) else is_whole(component)):
            self._refuse_entry(component)
        part = sides(component) if isinstance(component, slice) else int(component)
        chosen = ChosenComponents(self.name, part, self.function)
        named = chosen.of(self.components) if self.components else ()
        unit = self.unit if isinstance(self.unit, str) else tuple(chosen.of(self.unit))
        return ExpressionTerm(chosen, f"{self.name}[{spelled(part)}]", tuple(named), unit)

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[object, ...]:
        """Pickled by its name in a module where it has one: plain pickle finds no function there."""
        module, name = getattr(self.function, "__module__", ""), getattr(self.function, "__qualname__", "")
        if module != "__main__" and getattr(sys.modules.get(module), name, None) is self:
            return _term_in, (module, name)
        return super().__reduce_ex__(protocol)


def _term_in(module: str, name: str) -> ExpressionTerm:
    return getattr(import_module(module), name)


@dataclass(frozen=True)
class ChosenComponents:
    """Components of what a function of a node returns.

    term : its name in messages
    part : number of one component, or start, stop and step of several
    """

    term: str
    part: int | tuple[int | None, int | None, int | None]
    function: NodeFunction

    def __call__(self, node: NodeSymbols) -> Sequence[Expression]:
        from trajopt.graph.expression import expression_of

        column = expression_of(self.function(node))
        return self.of([column[place] for place in range(column.numel())])

    def of(self, values: Sequence[EntryT]) -> Sequence[EntryT]:
        """These of a sequence; OptionError where there are none."""
        each = slice(*self.part) if isinstance(self.part, tuple) else slice(self.part, self.part + 1 or None)
        if not values[each]:
            raise OptionError(
                f"{self.term}[{spelled(self.part)}] has no component: {self.term} has {len(values)}, "
                "counted from 0"
            )
        return values[each]


@dataclass(frozen=True)
class ComponentTerm(ExpressionTerm):
    """One component of a quantity `base`, (1,), whose unit it has."""

    base: str = ""
    component: int = 0


@dataclass(frozen=True)
class SliceTerm(ExpressionTerm):
    """Several components of a quantity `base`, whose units and names they have.

    part : start, stop and step of Python's slices, where None is left out
    """

    base: str = ""
    part: tuple[int | None, int | None, int | None] = (None, None, None)

    def of(self, values: Sequence[EntryT]) -> Sequence[EntryT]:
        """The entries of this part, one value for every component of the base."""
        return values[slice(*self.part)]


def components_read(term: Term, width: int) -> tuple[str, NDArray[np.int64]]:
    """The quantity that a term reads unchanged, and which of its `width` components, (k,)."""
    places = np.arange(width)
    if isinstance(term, ComponentTerm):
        return term.base, places[[term.component]]
    return (term.base, places[slice(*term.part)]) if isinstance(term, SliceTerm) else (term.quantity, places)


def slice_term(quantity: str, part: tuple[int | None, int | None, int | None]) -> SliceTerm:
    """The components of a quantity that a slice names; OptionError, when traced, where it names none."""

    def read(node: NodeSymbols) -> Expression:
        from trajopt.graph.trace import column_of

        return column_of(node, quantity)

    return SliceTerm(
        ChosenComponents(quantity, part, read), f"{quantity}[{spelled(part)}]", base=quantity, part=part
    )


def spelled(part: int | tuple[int | None, int | None, int | None]) -> str:
    """An index as it is written between brackets, "2" or "6:"."""
    if isinstance(part, int):
        return str(part)
    return ":".join("" if each is None else str(each) for each in part).removesuffix(":")


def sides(part: slice) -> tuple[Any, Any, Any]:
    """Start, stop and step of a slice."""
    return part.start, part.stop, part.step


def is_slice(part: slice) -> bool:
    """True if the sides of a slice are whole numbers, and its step is not zero."""
    return all(side is None or is_whole(side) for side in sides(part)) and part.step != 0


@dataclass(frozen=True)
class StateTerm(KnownByName):
    """A state or a control of a system, with all its components."""

    name: str

    def __getitem__(self, component: int | slice) -> ExpressionTerm:
        """One component as a term, (1,), or several: `trajopt.state("T")[0]`, `trajopt.state("T")[1:]`."""
        return ExpressionTerm(self._read, self.name)[component]

    def blocks(self, width_of: Callable[[str], int]) -> tuple[Block, ...]:
        from trajopt.graph.trace import trace

        return (trace(self._read, self.quantity, width_of),)

    def _read(self, node: NodeSymbols) -> Expression:
        return getattr(node, self.name)


@overload
def term(function: NodeFunction) -> ExpressionTerm: ...
@overload
def term(
    *, name: str | None = None, components: Sequence[str] = (), unit: str | Sequence[str] = ""
) -> Callable[[NodeFunction], ExpressionTerm]: ...
def term(
    function: NodeFunction | None = None,
    *,
    name: str | None = None,
    components: Sequence[str] = (),
    unit: str | Sequence[str] = "",
) -> ExpressionTerm | Callable[[NodeFunction], ExpressionTerm]:
    """Make a term y = f(node), (m,), of a function of the quantities of one node.

        node.t, node.q, node.v, node.tau ...                  columns of 1, n, n, n components
        node.wrench("knee"), node.position("foot") ...        (6,), (3,); `problem.quantities` has them all
        node.parameter("load"), node.extra("force"), node.data("measured")     quantities of the problem

    The function is called once with columns of CasADi symbols and returns an expression or a list of them.
    Exact sparse first and second derivatives follow by automatic differentiation. Use arithmetic, NumPy and
    casadi functions, and no Python `if` on values. Reports call the term by `name`, else by the function's
    own, and its components by `components`, else by the joints' names if there is one for each, or by
    numbers; `unit`, one for all components or one each, is printed beside its values.
    Raises OptionError for anything but a function; errors inside it arise where a problem takes the term.
    """
    if isinstance(unit, list | tuple):
        checked: str | tuple[str, ...] = tuple(arguments.unit(each, "a term's component") for each in unit)
    else:
        checked = arguments.unit(unit, "a term")
    if name is not None:
        arguments.name(name, "the name of a term")

    def made(decorated: NodeFunction) -> ExpressionTerm:
        called = name or getattr(decorated, "__name__", "term")
        return ExpressionTerm(decorated, called, tuple(components), checked)

    return made if function is None else made(function)


def operands_of(term: object) -> tuple[Term, ...]:
    """The terms that a term is made of; none of one that is a user's class."""
    return getattr(term, "operands", ())


def wrench(joint: str) -> Quantity:
    """The wrench of a joint on its link, (6,): [moment; force], N m and N, link axes, about its origin.

    Raises OptionError for what is no name, and UnknownNameError, for a joint that the robot lacks, where a
    problem takes the term.
    """
    return Quantity(f"wrench:{arguments.name(joint, 'the joint of a wrench')}")


def position(link: str) -> Quantity:
    """Origin of a link or frame, (3,) m, world axes. Errors as in `wrench`."""
    return Quantity(f"position:{arguments.name(link, 'the link of a position')}")


def parameter(name: str) -> Quantity:
    """A constant unknown of the problem, defined by `Problem.parameter`."""
    return Quantity(parameter_leaf(arguments.name(name, "the name of a parameter")))


def extra(name: str) -> Quantity:
    """An additional curve or a control of the problem, defined by `Problem.extra` or `Problem.control`."""
    return Quantity(extra_leaf(arguments.name(name, "the name of a curve")))


def state(name: str) -> StateTerm:
    """A state, or a control, of the problem's system by its name, with all its components: its own unit.

    problem.minimize(-trajopt.state("altitude"), over="end")
    problem.subject_to(trajopt.state("speed"), upper=0.5)

    Raises OptionError for what is no name.
    """
    return StateTerm(arguments.name(name, "the name of a state or control"))


# Meaning, shape and unit of each: `trajopt.q.description`, or `graph/quantities.py`.
t = Quantity("t")
time = Quantity("time")
duration = Quantity("duration")
q = Quantity("q")
v = Quantity("v")
a = Quantity("a")
jerk = Quantity("jerk")
tau = Quantity("tau")
motor_torque = Quantity("motor_torque")
base_wrench = Quantity("base_wrench")


@dataclass(frozen=True, eq=False)
class BlockTerm(KnownByName):
    """One output of a user's block; see `block_term`."""

    block: Block
    output: str
    name: str
    unit: str = ""

    def blocks(self, width_of: Callable[[str], int]) -> tuple[Block, ...]:
        for quantity, width in self.block.inputs.items():
            if width_of(quantity) != width:
                raise ShapeError(
                    f"term '{self.name}' takes '{quantity}' with {width} components, "
                    f"the problem has {width_of(quantity)}: correct the block's inputs"
                )
        return (NamedBlock(self.block, outputs={self.output: self.quantity}),)


def block_term(block: Any, output: str | None = None, name: str | None = None, unit: str = "") -> BlockTerm:
    """Make a term of a block y = f(u): an object with inputs, outputs, value, partials, and optionally more.

        inputs, outputs    quantity -> width; inputs are quantities of the problem
        value(u)           {output: (K, m)} from u[input] (K, width), K nodes at once
        partials(u)        {(output, input): (K, m, width)}; a pair left out is zero
        curvature(u, w)    {(input, input'): (K, width, width')}, second derivatives of sum w . y with the
                           adjoints w {output: (K, m)}, each unordered pair of inputs once;
                           without it a solve falls back to L-BFGS, and says so
        pattern(), curvature_pattern()    where derivatives may differ from zero; full when left out

    All of it is checked by differences before the first solve. Raises OptionError for a block that lacks a
    part, or has several outputs of which none is chosen. `unit` is printed beside its values.
    """
    for part in ("inputs", "outputs", "value", "partials"):
        if not hasattr(block, part):
            raise OptionError(
                f"{type(block).__name__} has no `{part}`: a block needs inputs, outputs, value, partials"
            )
    names = list(block.outputs)
    if output is None and len(names) != 1:
        raise OptionError(
            f"{type(block).__name__} has the outputs {', '.join(names)}: choose one, output=..."
        )
    chosen = names[0] if output is None else output
    arguments.check_known(f"output of {type(block).__name__}", chosen, names, OptionError)
    return BlockTerm(completed(block), chosen, name or chosen, arguments.unit(unit, "a block's term"))


Place: TypeAlias = tuple[float, float, float]  # m, world axes


@dataclass(frozen=True)
class Capsule:
    """All points within `radius` of a segment, m; a ball where the segment has no length."""

    start: Place
    end: Place
    radius: float


@dataclass(frozen=True)
class Target:
    """A place that a frame is to reach or to follow."""

    frame: str
    place: Place


def scene_of(term: object) -> Iterator[Capsule | Target]:
    """The object of a term, or of one that it is made of by arithmetic or as a maximum."""
    own = getattr(term, "scene", None)
    if own is not None:
        yield own
    for part in getattr(term, "operands", ()):
        yield from scene_of(part)
