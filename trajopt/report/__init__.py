"""The report of a solution: one self-contained HTML page."""

from trajopt.base.arguments import check_calls as _check_calls
from trajopt.report.active_constraints import ActiveConstraint, active_constraints
from trajopt.report.page import html, time_split

__all__ = ["ActiveConstraint", "active_constraints", "html", "time_split"]

_check_calls(globals(), "trajopt")
