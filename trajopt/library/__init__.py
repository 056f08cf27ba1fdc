"""Ready terms that many problems share; each docstring states the equation.

Names are imported on first use, so that `import trajopt.library` stays below a tenth of a second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trajopt.base.lazy_exports import export_lazily

if TYPE_CHECKING:
    from trajopt.library.clearance import capsule_clearance as capsule_clearance
    from trajopt.library.clearance import self_clearance as self_clearance
    from trajopt.library.clearance import sphere_clearance as sphere_clearance
    from trajopt.library.efforts import effort as effort
    from trajopt.library.efforts import energy as energy
    from trajopt.library.efforts import force_norm as force_norm
    from trajopt.library.efforts import limit_torque_rate as limit_torque_rate
    from trajopt.library.efforts import mechanical_work as mechanical_work
    from trajopt.library.efforts import moment_norm as moment_norm
    from trajopt.library.efforts import power as power
    from trajopt.library.efforts import smoothness as smoothness
    from trajopt.library.efforts import symmetric as symmetric
    from trajopt.library.efforts import weighted as weighted
    from trajopt.library.manipulability import manipulability as manipulability
    from trajopt.library.tracking import distance_to_data as distance_to_data
    from trajopt.library.tracking import frame_at as frame_at
    from trajopt.library.tracking import orientation_error as orientation_error
    from trajopt.library.tracking import position_error as position_error
    from trajopt.studies.pareto import pareto_front as pareto_front

export_lazily(__name__)
