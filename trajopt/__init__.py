"""Gradient-based trajectory optimization: splines, exact first and second derivatives, checked answers.

Names are imported on first use, so that `import trajopt` stays below a tenth of a second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trajopt.base.lazy_exports import export_lazily, refuse_shadowed
from trajopt.base.version import __version__ as __version__

refuse_shadowed("dynamics", "problems")  # a file of the user beside the script

if TYPE_CHECKING:
    from trajopt import adapters as adapters
    from trajopt import library as library
    from trajopt import plot as plot
    from trajopt import report as report
    from trajopt.adapters.layer import layer as layer
    from trajopt.api.compiled_program import CompiledProgram as CompiledProgram
    from trajopt.api.compiled_program import compile as compile
    from trajopt.api.inverse_kinematics import inverse_kinematics as inverse_kinematics
    from trajopt.api.solve import solve as solve
    from trajopt.base.errors import TrajoptError as TrajoptError
    from trajopt.certified.certified import Certified as Certified
    from trajopt.certified.search_settings import SearchSettings as SearchSettings
    from trajopt.certified.switching.shooting import switching_times as switching_times
    from trajopt.display.curves import Samples as Samples
    from trajopt.display.facts import ProblemSummary as ProblemSummary
    from trajopt.graph.protocols import Block as Block
    from trajopt.graph.protocols import Dynamics as Dynamics
    from trajopt.graph.quantities import DeclaredQuantity as DeclaredQuantity
    from trajopt.graph.trace import trace as trace
    from trajopt.problem.constraints.slacks import integral as integral
    from trajopt.problem.contacts.ground import Box as Box
    from trajopt.problem.contacts.ground import Ground as Ground
    from trajopt.problem.contacts.ground import Plane as Plane
    from trajopt.problem.contacts.schedule import Schedule as Schedule
    from trajopt.problem.phases import Phases as Phases
    from trajopt.problem.problem import Problem as Problem
    from trajopt.problem.systems.definition import system as system
    from trajopt.problem.systems.robot_on_path import on_path as on_path
    from trajopt.refinement.refinements import LimitNodes as LimitNodes
    from trajopt.refinement.refinements import Refined as Refined
    from trajopt.solution.phases_solution import PhasesSolution as PhasesSolution
    from trajopt.solution.solution import Solution as Solution
    from trajopt.solvers.interior.interior_point import DenseInteriorPoint as DenseInteriorPoint
    from trajopt.solvers.interior.interior_point import InteriorPoint as InteriorPoint
    from trajopt.solvers.ipopt import Ipopt as Ipopt
    from trajopt.solvers.sequential.trust_region import TrustRegionSqp as TrustRegionSqp
    from trajopt.solvers.slsqp import Slsqp as Slsqp
    from trajopt.solvers.solver import Status as Status
    from trajopt.solvers.wrappers.checkpoint import Checkpointed as Checkpointed
    from trajopt.solvers.wrappers.constraint_generation import ConstraintGeneration as ConstraintGeneration
    from trajopt.splines.basis import SplineBasis as SplineBasis
    from trajopt.splines.node_sets import ArcNodes as ArcNodes
    from trajopt.splines.node_sets import Instants as Instants
    from trajopt.splines.node_sets import Neighbours as Neighbours
    from trajopt.splines.trajectory import Arc as Arc
    from trajopt.splines.trajectory import Trajectory as Trajectory
    from trajopt.studies.many.study import Study as Study
    from trajopt.studies.many.sweep import solve_many as solve_many
    from trajopt.studies.many.sweep import sweep as sweep
    from trajopt.studies.multistart import multistart as multistart
    from trajopt.terms.nonsmooth import absolute as absolute
    from trajopt.terms.nonsmooth import maximum as maximum
    from trajopt.terms.nonsmooth import minimum as minimum
    from trajopt.terms.nonsmooth import norm as norm
    from trajopt.terms.term import ExpressionTerm as ExpressionTerm
    from trajopt.terms.term import Quantity as Quantity
    from trajopt.terms.term import a as a
    from trajopt.terms.term import base_wrench as base_wrench
    from trajopt.terms.term import block_term as block_term
    from trajopt.terms.term import duration as duration
    from trajopt.terms.term import jerk as jerk
    from trajopt.terms.term import position as position
    from trajopt.terms.term import q as q
    from trajopt.terms.term import state as state
    from trajopt.terms.term import t as t
    from trajopt.terms.term import tau as tau
    from trajopt.terms.term import term as term
    from trajopt.terms.term import time as time
    from trajopt.terms.term import v as v
    from trajopt.terms.term import wrench as wrench
    from trajopt.transcription.transcribe import transcribe as transcribe
    from trajopt.verification.diagnosis import diagnose as diagnose

export_lazily(__name__)
