"""The passes of Numba's compiler that kernels need, without machine code for parts of kernels.

Numba turns a Python function into LLVM's instructions in a list of passes, and those into machine code; it
does both for every function, also for one that is only ever called by others that it will be copied into.
Its passes for closures, context managers, literals and array expressions find nothing in kernels. See
Numba's manual, "Customizing the compiler". Names below `numba.core` are not promised to stay: pyproject.toml
admits the versions that the tests have passed with.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import PassManager
from numba.core.typed_passes import (
    AnnotateTypes,
    IRLegalization,
    NativeLowering,
    NoPythonBackend,
    NopythonTypeInference,
    PreLowerStripPhis,
)
from numba.core.untyped_passes import (
    DeadBranchPrune,
    FixupArgs,
    GenericRewrites,
    IRProcessing,
    ReconstructSSA,
    TranslateByteCode,
)

_PASSES = {
    TranslateByteCode: "bytecode",
    FixupArgs: "arguments",
    IRProcessing: "definitions and uses",
    DeadBranchPrune: "branches for what is None",
    GenericRewrites: "constant indices",
    ReconstructSSA: "one assignment for each name",
    NopythonTypeInference: "types",
    PreLowerStripPhis: "joined values",
    IRLegalization: "what cannot be lowered",
    AnnotateTypes: "types, for the cache",
    NativeLowering: "LLVM",
    NoPythonBackend: "entry points",
}


class KernelCompiler(CompilerBase):
    """Compiles a kernel."""

    def define_pipelines(self) -> list[Any]:
        passes = PassManager("kernel")
        for kind, meaning in _PASSES.items():
            passes.add_pass(kind, meaning)
        passes.finalize()
        return [passes]


class PartCompiler(KernelCompiler):
    """Compiles a part of kernels as far as they need it."""

    def define_pipelines(self) -> list[Any]:
        target = self.state.targetctx.codegen()
        self.state.library = PartLibrary(target, self.state.func_id.func_qualname)
        return super().define_pipelines()


class PartLibrary(JITCodeLibrary):
    """LLVM's instructions of a part, to be linked into kernels, which are then optimized as a whole.

    Numba asks every library for machine code, the address of its entry point and a place for the function's
    environment; a part has none of them, and nothing calls it at an address.
    """

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        """Receiver of `set_env`, as Numba's own code generator is."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        pass
