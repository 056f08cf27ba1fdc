"""Motions of robots: through goals of their tools in least time (`Task`), or along given paths (`retime`)."""

from dynamics.model.scene import Scene as Scene
from dynamics.model.shape import Shape as Shape
from dynamics.model.shape import box as box
from dynamics.model.shape import capsule as capsule
from dynamics.model.shape import cylinder as cylinder
from dynamics.model.shape import half_space as half_space
from dynamics.model.shape import hull as hull
from dynamics.model.shape import point_cloud as point_cloud
from dynamics.model.shape import sphere as sphere
from problems.moves.certificate import LimitLine as LimitLine
from problems.moves.certificate import MotionCertificate as MotionCertificate
from problems.moves.controller.hand_over import hand_over as hand_over
from problems.moves.controller.points import HandOver as HandOver
from problems.moves.motion import Motion as Motion
from problems.moves.motion_limits import over_segments as over_segments
from problems.moves.mujoco_replay import Replay as Replay
from problems.moves.mujoco_replay import replay as replay
from problems.moves.retimed_motion import RetimedMotion as RetimedMotion
from problems.moves.retiming import retime as retime
from problems.moves.tasks.planned_motion import PlannedMotion as PlannedMotion
from problems.moves.tasks.robot import Robot as Robot
from problems.moves.tasks.robot import robot as robot
from problems.moves.tasks.saved_motion import load_motion as load_motion
from problems.moves.tasks.task import Task as Task
from problems.moves.timing.smooth_motion import SmoothMotion as SmoothMotion
from problems.moves.view.view import View as View
from problems.moves.view.view import view as view
from trajopt.base.arguments import check_calls as _check_calls

_check_calls(globals(), "problems")
