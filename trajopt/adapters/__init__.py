"""Functions of JAX, PyTorch or NumPy, and models of MuJoCo and Pinocchio, in problems.

Names are imported on first use: a library is loaded only where one of its functions is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trajopt.base.lazy_exports import export_lazily

if TYPE_CHECKING:
    from trajopt.adapters.engines import mujoco_dynamics as mujoco_dynamics
    from trajopt.adapters.engines import pinocchio_dynamics as pinocchio_dynamics
    from trajopt.adapters.functions import foreign_block as foreign_block
    from trajopt.adapters.functions import foreign_dynamics as foreign_dynamics
    from trajopt.adapters.functions import foreign_term as foreign_term

export_lazily(__name__)
