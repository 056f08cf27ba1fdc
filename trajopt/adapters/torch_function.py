"""Functions of PyTorch: `torch.func.vmap` over the nodes, `jacrev` and `hessian` for derivatives."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from types import ModuleType

from trajopt.adapters.stacked_function import ArrayFunction, Foreign, MappedFunction, library_of
from trajopt.base.arrays import Array
from trajopt.base.errors import EvaluationError, OptionError


@dataclass(frozen=True, eq=False)
class TorchFunction(MappedFunction):
    """A function of float64 tensors at one node, on the processor; a `torch.nn.Module` is one, too."""

    remedy = "make its tensors with dtype=torch.float64, and a module by module.double()"

    @cached_property
    def _batched(self) -> tuple[ArrayFunction, ...]:
        """Values, Jacobians and Hessians at all nodes."""
        torch, func = self._torch, self._torch.func
        widths = list(self.widths)

        def value(z: Foreign) -> Foreign:
            found = self.function(*torch.split(z, widths))
            several = found if isinstance(found, list | tuple) else [found]
            return torch.cat([torch.as_tensor(part).reshape(-1) for part in several])

        def hessian(z: Foreign, w: Foreign) -> Foreign:
            return func.hessian(lambda at: w @ value(at))(z)

        return tuple(func.vmap(each) for each in (value, func.jacrev(value), hessian))

    def _call(self, which: int, *arrays: Array) -> Array:
        torch = self._torch
        try:
            found = self._batched[which](*(torch.tensor(each) for each in arrays))
        except RuntimeError as error:
            message = str(error)
            if "dtype" in message or "scalar type" in message:
                raise EvaluationError(
                    f"{self.label} mixes float64, in which nodes come, with another type: {self.remedy}"
                ) from error
            if "inplace" in message:
                raise OptionError(
                    f"{self.label} changes a tensor in place: write a + b in place of a.add_(b) or a += b"
                ) from error
            if any(sign in message for sign in ("control flow", ".item()", "data pointer")):
                raise OptionError(
                    f"{self.label} branches on a value, or takes it out of its tensor: write "
                    "torch.where(condition, a, b), and no .item(), float(), .numpy() or function of NumPy"
                ) from error
            raise
        return found.detach().numpy()

    @cached_property
    def _torch(self) -> ModuleType:
        return library_of("torch", "torch", self.label)
