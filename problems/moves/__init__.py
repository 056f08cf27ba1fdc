"""The fastest motions of a robot along given paths of its joints (`retime`), and what is proved of them."""

from problems.moves.certificate import LimitLine as LimitLine
from problems.moves.certificate import MotionCertificate as MotionCertificate
from problems.moves.retimed_motion import RetimedMotion as RetimedMotion
from problems.moves.retiming import retime as retime
