"""Functions of JAX: `jax.vmap` over the nodes, `jax.jacfwd` and `jax.hessian` for derivatives, compiled."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from types import ModuleType

import numpy as np

from trajopt.adapters.stacked_function import ArrayFunction, Foreign, MappedFunction, library_of
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError

STATED_MODE = re.compile(
    r"GatherScatterMode\.CLIP|fill_value=(?!None|nan)"
)  # in the text of a traced function


@dataclass(frozen=True, eq=False)
class JaxFunction(MappedFunction):
    """A function of JAX arrays at one node, computed in float64 whatever `jax_enable_x64` says elsewhere.

    XLA compiles for every number of nodes anew: nodes are padded to the next power of two.
    """

    remedy = "make its constants of NumPy arrays in float64, and convert nothing to float32"

    @cached_property
    def _compiled(self) -> tuple[ArrayFunction, ...]:
        """Values, Jacobians and Hessians at all nodes."""
        jax, jnp = self._jax, self._jax.numpy

        def value(z: Foreign) -> Foreign:
            found = self.function(*jnp.split(z, self.cuts))
            several = found if isinstance(found, list | tuple) else [found]
            return jnp.concatenate([jnp.ravel(part) for part in several])

        def hessian(z: Foreign, w: Foreign) -> Foreign:
            return jax.hessian(lambda at: w @ value(at))(z)

        self._check_indices(value)
        return tuple(jax.jit(jax.vmap(each)) for each in (value, jax.jacfwd(value), hessian))

    def _check_indices(self, value: Callable[[Foreign], Foreign]) -> None:
        """OptionError for a fixed index that is out of range, where JAX would take the nearest one.

        It is the same at four points: of one sign, far on both sides, and near zero. An index that is
        computed from the inputs is not refused, nor is any of a function that states `mode="clip"` or a
        `fill_value`: tables are read beyond their ends in this way.
        """
        count, checkify = sum(self.widths), import_module("jax.experimental.checkify")
        checked, wide = (
            checkify.checkify(value, errors=checkify.index_checks),
            np.linspace(-37.0, 53.0, count),
        )
        first = checked(np.linspace(0.4, 0.6, count))[0].get()
        if not first or any(checked(point)[0].get() != first for point in (wide, -wide, 1e-4 * wide)):
            return
        if not STATED_MODE.search(str(self._jax.make_jaxpr(value)(wide))):
            raise OptionError(
                f"{self.label}: {first.splitlines()[0]}\nJAX would take the nearest component: correct it"
            )

    def _call(self, which: int, *arrays: Array) -> Array:
        jax, count = self._jax, len(arrays[0])
        size = max(8, 1 << (count - 1).bit_length())  # nodes of a compiled call
        padded = [np.concatenate([each, np.repeat(each[-1:], size - count, axis=0)]) for each in arrays]
        try:
            with jax.enable_x64(True):
                return np.asarray(self._compiled[which](*padded))[:count]
        except jax.errors.TracerBoolConversionError as error:
            raise OptionError(
                f"{self.label} branches on a value, which JAX traces without one: write "
                "jnp.where(condition, a, b), or jax.lax.cond"
            ) from error
        except (jax.errors.TracerArrayConversionError, jax.errors.ConcretizationTypeError) as error:
            raise OptionError(
                f"{self.label} turns a traced value into one of Python or NumPy: use jax.numpy throughout, "
                "no float(), int() or numpy functions"
            ) from error

    @cached_property
    def _jax(self) -> ModuleType:
        return library_of("jax", "jax", self.label)
