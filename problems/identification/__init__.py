"""Identification of a robot's dynamics: motions that excite its parameters, and their estimates from data."""

from problems.identification.estimate import Estimate as Estimate
from problems.identification.estimate import Validation as Validation
from problems.identification.estimation import estimate as estimate
from problems.identification.excitation import excite as excite
from problems.identification.exciting_motion import ExcitingMotion as ExcitingMotion
from problems.identification.least_squares import NotExcitingError as NotExcitingError
from problems.identification.measurements import Measurements as Measurements
from problems.identification.measurements import measurements as measurements
from problems.identification.measurements import read_measurements as read_measurements
from trajopt.base.arguments import check_calls as _check_calls

_check_calls(globals(), "problems")
