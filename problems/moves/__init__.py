"""Motions of a robot in its own words: paths of its joints that are run through in least time."""

from problems.moves.certificate import LimitLine as LimitLine
from problems.moves.certificate import MotionCertificate as MotionCertificate
from problems.moves.retimed_motion import RetimedMotion as RetimedMotion
from problems.moves.retiming import retime as retime
