"""Straight-line parts of kernels, whose LLVM instructions are written by running them once on symbols.

A part without jumps is the same sequence of operations for every input, so Numba need not analyse its
bytecode. Python runs it on symbols instead, each of which stands for a number or an array: once for the type
of the result, where a symbol is a Numba type, and once more for each call in a kernel, where it is an LLVM
value as well and an operation on it appends LLVM instructions. Tuples are Python's own. To Numba a part is an
intrinsic: a function that comes with the code that writes its instructions. With all parts as functions of
their own, nine kernels cost 191 runs of Numba's compiler, half of the seconds in which they are compiled.
"""

from __future__ import annotations

import dis
import inspect
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from numba import extending
from numba.core import types

_JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))


def is_straight(function: Callable) -> bool:
    """True if the bytecode of a function has no jump."""
    return _JUMPS.isdisjoint(function.__code__.co_code[::2])


def straight(function: Callable) -> Any:
    """A part without jumps, as an intrinsic of Numba that kernels and other parts call."""

    def definition(typingctx: Any, *kinds: Any) -> Any:
        with _tracing(_Writer(typingctx)):
            result = _kind_of(function(*(_symbols(kind) for kind in kinds)))

        def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            writer = _Writer(typingctx, context, builder)
            with _tracing(writer):
                pairs = zip(signature.args, values, strict=True)
                return writer.packed(function(*(writer.unpacked(*pair) for pair in pairs)), result)

        return result(*kinds), codegen

    context = inspect.Parameter("typingctx", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    definition.__signature__ = inspect.Signature([context, *parameters])  # pyright: ignore[reportFunctionMemberAccess]
    definition.__name__ = definition.__qualname__ = function.__name__
    definition.__doc__ = function.__doc__
    made: Any = extending.intrinsic(definition)
    made.py_func = function
    made.__class__ = _Straight
    return made


def intrinsic(definition: Any) -> Any:
    """Numba's intrinsic, which straight parts can call as well."""
    made: Any = extending.intrinsic(definition)
    made.__class__ = _Operation
    return made


_Intrinsic: Any = extending._Intrinsic  # pyright: ignore  what Numba's decorator makes


class _Operation(_Intrinsic):
    """An operation on elements that is written in LLVM's instructions."""

    def __call__(self, *arguments: Any) -> Any:
        return _writer(self).of_definition(self._defn, arguments)


class _Straight(_Intrinsic):
    """A part that runs on symbols."""

    def __call__(self, *arguments: Any) -> Any:
        _writer(self)
        return self.py_func(*arguments)


def call_part(part: Any, *arguments: Any) -> Any:
    """A part with jumps, a function of Numba's own, called by a straight one."""
    return _writer(part).of_function(part, arguments)


class Symbol:
    """A value of a part that is traced: its Numba type, and its LLVM value while code is written."""

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __init__(self, kind: Any, value: Any = None) -> None:
        self.kind, self.value = kind, value

    def __bool__(self) -> bool:
        raise TypeError(f"a part without jumps asks whether a {self.kind} is true")

    def _compared(self, other: object) -> bool:
        raise TypeError(f"a part without jumps compares a {self.kind}: `min` and `max` do, write an `if`")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _compared  # pyright: ignore[reportAssignmentType]

    def __neg__(self) -> Any:
        return _WRITER.get().of_function(operator.neg, (self,))

    def __getitem__(self, index: Any) -> Any:
        indices = index if isinstance(index, tuple) else (index,)
        return _WRITER.get().entry(self, indices)

    def __setitem__(self, index: Any, value: Any) -> None:
        _WRITER.get().of_function(operator.setitem, (self, index, value))

    @property
    def shape(self) -> Any:
        return _WRITER.get().shape(self)


def _binary(function: Callable, turned: bool = False) -> Callable:
    def write(self: Symbol, other: Any) -> Any:
        return _WRITER.get().of_function(function, (other, self) if turned else (self, other))

    return write


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod"):
    setattr(Symbol, f"__{_name}__", _binary(getattr(operator, _name)))
    setattr(Symbol, f"__r{_name}__", _binary(getattr(operator, _name), turned=True))


def array_field(context: Any, builder: Any, kind: Any, array: Any, name: str) -> Any:
    """A field of the value of an array; `make_array` would write a dozen instructions for it."""
    place = context.data_model_manager[kind].get_field_position(name)
    return builder.extract_value(array, place)


def _symbols(kind: Any) -> Any:
    """Symbol of an argument of this type."""
    if _is_tuple(kind):
        return tuple(_symbols(each) for each in kind)
    return None if kind == types.none else Symbol(kind)


def _is_tuple(kind: Any) -> bool:
    return isinstance(kind, types.BaseTuple)


def _kind_of(found: Any) -> Any:
    """The Numba type of what a part computes or is given."""
    if isinstance(found, tuple):
        return types.Tuple([_kind_of(each) for each in found])
    if isinstance(found, Symbol):
        return found.kind
    kinds = {type(None): types.none, bool: types.boolean, int: types.intp, float: types.float64}
    if type(found) not in kinds:
        raise TypeError(f"a part without jumps has a {type(found).__name__}: numbers of Python are expected")
    return kinds[type(found)]


@dataclass(eq=False)
class _Writer:
    """Finder of the types of operations that, with a builder, writes their instructions.

    found : an operation and the types of its arguments -> its signature and what writes it
    """

    typingctx: Any
    context: Any = None
    builder: Any = None
    found: dict[Any, Any] = field(default_factory=dict)

    def of_definition(self, definition: Any, arguments: tuple[Any, ...]) -> Any:
        """The result of an intrinsic."""
        kinds = tuple(map(_kind_of, arguments))
        key = definition, kinds
        if key not in self.found:
            self.found[key] = definition(self.typingctx, *kinds)
        signature, codegen = self.found[key]
        if self.builder is None:
            return _symbols(signature.return_type)
        values = self.cast(arguments, kinds, signature.args)
        return self.unpacked(signature.return_type, codegen(self.context, self.builder, signature, values))

    def of_function(self, function: Any, arguments: tuple[Any, ...]) -> Any:
        """The result of an operator or of a function of Numba's own."""
        kinds = tuple(map(_kind_of, arguments))
        key = function, kinds
        if key not in self.found:
            self.found[key] = self.resolved(function, kinds)
        signature, write = self.found[key]
        if self.builder is None:
            return _symbols(signature.return_type)
        values = self.cast(arguments, kinds, signature.args)
        return self.unpacked(signature.return_type, write(self.builder, values))

    def resolved(self, function: Any, kinds: tuple[Any, ...]) -> Any:
        """A signature of a function for arguments of these types, and what writes a call of it."""
        kind = self.typingctx.resolve_value_type(function)
        signature = self.typingctx.resolve_function_type(kind, kinds, {})
        if signature is None:
            raise TypeError(f"{function} is not known for {kinds}")
        return signature, self.context and self.context.get_function(kind, signature)

    def cast(self, arguments: Any, kinds: Any, wanted: Any) -> list[Any]:
        """LLVM values of arguments in the types that a signature wants."""
        values = (self.packed(*pair) for pair in zip(arguments, kinds, strict=True))
        triples = zip(values, kinds, wanted, strict=True)
        return [self.context.cast(self.builder, *triple) for triple in triples]

    def packed(self, found: Any, kind: Any) -> Any:
        """The LLVM value of a symbol, a number, None, or a tuple of such."""
        if isinstance(found, Symbol):
            return found.value
        if isinstance(found, tuple):
            values = [self.packed(*pair) for pair in zip(found, kind, strict=True)]
            return self.context.make_tuple(self.builder, kind, values)
        if found is None:
            return self.context.get_dummy_value()
        return self.context.get_constant(kind, found)

    def unpacked(self, kind: Any, value: Any) -> Any:
        """A tuple of symbols, a symbol, or None, of an LLVM value."""
        if _is_tuple(kind):
            parts = (self.builder.extract_value(value, k) for k in range(len(kind)))
            return tuple(self.unpacked(*pair) for pair in zip(kind, parts, strict=True))
        return None if kind == types.none else Symbol(kind, value)

    def entry(self, array: Symbol, indices: tuple[Any, ...]) -> Symbol:
        """A number in a contiguous array; indices count from its beginning."""
        if getattr(array.kind, "layout", "") != "C" or array.kind.ndim != len(indices):
            raise TypeError(f"a part without jumps takes {len(indices)} indices of a {array.kind}")
        if not all(isinstance(index, Symbol) or (type(index) is int and index >= 0) for index in indices):
            raise TypeError(f"a part without jumps takes entry {indices}: whole numbers from 0 on are wanted")
        if self.builder is None:
            return Symbol(array.kind.dtype)
        lengths = [length.value for length in self.shape(array)]
        place = self.packed(indices[0], types.intp)
        for length, index in zip(lengths[1:], indices[1:], strict=True):
            place = self.builder.add(self.builder.mul(place, length), self.packed(index, types.intp))
        data = array_field(self.context, self.builder, array.kind, array.value, "data")
        pointer = self.builder.gep(data, [place])
        return Symbol(array.kind.dtype, self.context.unpack_value(self.builder, array.kind.dtype, pointer))

    def shape(self, array: Symbol) -> tuple[Symbol, ...]:
        """The axes' lengths of an array."""
        if self.builder is None:
            return (Symbol(types.intp),) * array.kind.ndim
        lengths = array_field(self.context, self.builder, array.kind, array.value, "shape")
        return self.unpacked(types.UniTuple(types.intp, array.kind.ndim), lengths)


_WRITER: ContextVar[Any] = ContextVar("writer of the part that is traced", default=None)


@contextmanager
def _tracing(writer: _Writer) -> Iterator[None]:
    token = _WRITER.set(writer)
    try:
        yield
    finally:
        _WRITER.reset(token)


def _writer(part: Any) -> _Writer:
    found = _WRITER.get()
    if found is None:
        raise TypeError(f"{part.__name__} is part of kernels: call it in one, or its `py_func`")
    return found
