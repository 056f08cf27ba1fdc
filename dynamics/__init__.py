"""Rigid-body dynamics of trees: models, torques, internal wrenches and their exact derivatives.

Names are imported on first use, so that `import dynamics` stays below a tenth of a second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynamics.lazy_exports import export_lazily

if TYPE_CHECKING:
    from dynamics.algorithms.aba import aba as aba
    from dynamics.algorithms.aba_derivatives import AbaDerivatives as AbaDerivatives
    from dynamics.algorithms.aba_derivatives import aba_derivatives as aba_derivatives
    from dynamics.algorithms.christoffel import christoffel_symbols as christoffel_symbols
    from dynamics.algorithms.coriolis import CoriolisMatrices as CoriolisMatrices
    from dynamics.algorithms.coriolis import coriolis_matrix as coriolis_matrix
    from dynamics.algorithms.coriolis_product import coriolis_product as coriolis_product
    from dynamics.algorithms.coriolis_product import (
        coriolis_transposed_product as coriolis_transposed_product,
    )
    from dynamics.algorithms.crba import crba as crba
    from dynamics.algorithms.external_derivatives import ExternalDerivatives as ExternalDerivatives
    from dynamics.algorithms.external_derivatives import external_derivatives as external_derivatives
    from dynamics.algorithms.rnea import base_wrench as base_wrench
    from dynamics.algorithms.rnea import joint_wrenches as joint_wrenches
    from dynamics.algorithms.rnea import rnea as rnea
    from dynamics.algorithms.rnea_derivatives import RneaDerivatives as RneaDerivatives
    from dynamics.algorithms.rnea_derivatives import WrenchDerivatives as WrenchDerivatives
    from dynamics.algorithms.rnea_derivatives import base_wrench_derivatives as base_wrench_derivatives
    from dynamics.algorithms.rnea_derivatives import joint_wrench_derivatives as joint_wrench_derivatives
    from dynamics.algorithms.rnea_derivatives import rnea_derivatives as rnea_derivatives
    from dynamics.algorithms.rnea_second_derivatives import RneaSecondDerivatives as RneaSecondDerivatives
    from dynamics.algorithms.rnea_second_derivatives import rnea_second_derivatives as rnea_second_derivatives
    from dynamics.coupled_model import CoupledModel as CoupledModel
    from dynamics.couplings.coupled_tree import Follower as Follower
    from dynamics.couplings.joint_function import JointFunction as JointFunction
    from dynamics.errors import CouplingError as CouplingError
    from dynamics.errors import DegreesWarning as DegreesWarning
    from dynamics.errors import DhError as DhError
    from dynamics.errors import DynamicsError as DynamicsError
    from dynamics.errors import InertiaError as InertiaError
    from dynamics.errors import InertiaWarning as InertiaWarning
    from dynamics.errors import JointError as JointError
    from dynamics.errors import JointWarning as JointWarning
    from dynamics.errors import JsonError as JsonError
    from dynamics.errors import MeshWarning as MeshWarning
    from dynamics.errors import ModelError as ModelError
    from dynamics.errors import MujocoError as MujocoError
    from dynamics.errors import MujocoWarning as MujocoWarning
    from dynamics.errors import MuscleError as MuscleError
    from dynamics.errors import MuscleWarning as MuscleWarning
    from dynamics.errors import OsimError as OsimError
    from dynamics.errors import OsimWarning as OsimWarning
    from dynamics.errors import ShapeError as ShapeError
    from dynamics.errors import ShapeWarning as ShapeWarning
    from dynamics.errors import SourceError as SourceError
    from dynamics.errors import TreeError as TreeError
    from dynamics.errors import UnknownNameError as UnknownNameError
    from dynamics.errors import UrdfError as UrdfError
    from dynamics.formats.collision_shapes import load_allowed_pairs as load_allowed_pairs
    from dynamics.formats.collision_shapes import load_scene as load_scene
    from dynamics.formats.collision_shapes import load_spheres as load_spheres
    from dynamics.formats.collision_shapes import urdf_shapes as urdf_shapes
    from dynamics.formats.dh import DhRow as DhRow
    from dynamics.formats.dh import from_dh as from_dh
    from dynamics.formats.dh import from_modified_dh as from_modified_dh
    from dynamics.formats.mujoco.mujoco_model import from_mujoco as from_mujoco
    from dynamics.formats.opensim.function_paths import load_function_paths as load_function_paths
    from dynamics.formats.opensim.naming import OsimNames as OsimNames
    from dynamics.formats.opensim.naming import OwnCoordinate as OwnCoordinate
    from dynamics.formats.opensim.osim_model import OsimModel as OsimModel
    from dynamics.formats.opensim.osim_model import load_osim as load_osim
    from dynamics.formats.srdf import Srdf as Srdf
    from dynamics.formats.srdf import load_srdf as load_srdf
    from dynamics.formats.urdf import load_urdf as load_urdf
    from dynamics.kernel_warmup import warmup as warmup
    from dynamics.model.body import Body as Body
    from dynamics.model.body import Frame as Frame
    from dynamics.model.joint import Joint as Joint
    from dynamics.model.joint_limits import JointLimits as JointLimits
    from dynamics.model.rotation_joint import ball_joint as ball_joint
    from dynamics.model.rotation_joint import free_joint as free_joint
    from dynamics.model.rotor import Rotor as Rotor
    from dynamics.model.scene import Scene as Scene
    from dynamics.model.shape import Shape as Shape
    from dynamics.model.shape import box as box
    from dynamics.model.shape import capsule as capsule
    from dynamics.model.shape import cylinder as cylinder
    from dynamics.model.shape import half_space as half_space
    from dynamics.model.shape import hull as hull
    from dynamics.model.shape import point_cloud as point_cloud
    from dynamics.model.shape import sphere as sphere
    from dynamics.muscles.fibres import Fibres as Fibres
    from dynamics.muscles.joint_reactions import BodyJoint as BodyJoint
    from dynamics.muscles.joint_reactions import JointEnd as JointEnd
    from dynamics.muscles.joint_reactions import joint_reactions as joint_reactions
    from dynamics.muscles.muscle_paths import MusclePaths as MusclePaths
    from dynamics.muscles.muscles import Muscles as Muscles
    from dynamics.papers.safeea.christoffel_recursion import (
        christoffel_symbols_serial as christoffel_symbols_serial,
    )
    from dynamics.quantities.armature_error import ArmatureError as ArmatureError
    from dynamics.quantities.armature_error import armature_error as armature_error
    from dynamics.quantities.clearances import Clearances as Clearances
    from dynamics.quantities.generalized_forces import GeneralizedForce as GeneralizedForce
    from dynamics.quantities.generalized_forces import friction as friction
    from dynamics.quantities.generalized_forces import joint_springs as joint_springs
    from dynamics.quantities.generalized_forces import point_spring as point_spring
    from dynamics.quantities.kinematics import Poses as Poses
    from dynamics.quantities.kinematics import centre_of_mass as centre_of_mass
    from dynamics.quantities.kinematics import forward_kinematics as forward_kinematics
    from dynamics.quantities.kinematics import frame_jacobian as frame_jacobian
    from dynamics.quantities.kinematics import frame_velocity as frame_velocity
    from dynamics.quantities.kinematics import kinetic_energy as kinetic_energy
    from dynamics.quantities.kinematics import momentum as momentum
    from dynamics.quantities.kinematics import potential_energy as potential_energy
    from dynamics.quantities.recentring import recentred as recentred
    from dynamics.quantities.recentring import rotation_vector as rotation_vector
    from dynamics.regressors.base_parameters import BaseParameters as BaseParameters
    from dynamics.regressors.base_parameters import base_parameters as base_parameters
    from dynamics.regressors.dynamic_parameters import dynamic_parameter_names as dynamic_parameter_names
    from dynamics.regressors.dynamic_parameters import dynamic_parameters as dynamic_parameters
    from dynamics.regressors.dynamic_parameters import with_dynamic_parameters as with_dynamic_parameters
    from dynamics.regressors.regressor import regressor as regressor
    from dynamics.regressors.regressor_gradient import regressor_gradient as regressor_gradient
    from dynamics.rigid_body_model import RigidBodyModel as RigidBodyModel
    from dynamics.threads import in_threads as in_threads

export_lazily(
    __name__,
    {  # exported name -> module that defines it
        "CoupledModel": "dynamics.coupled_model",
        "Follower": "dynamics.couplings.coupled_tree",
        "JointFunction": "dynamics.couplings.joint_function",
        "OsimModel": "dynamics.formats.opensim.osim_model",
        "load_function_paths": "dynamics.formats.opensim.function_paths",
        "OsimNames": "dynamics.formats.opensim.naming",
        "OwnCoordinate": "dynamics.formats.opensim.naming",
        "load_osim": "dynamics.formats.opensim.osim_model",
        "CouplingError": "dynamics.errors",
        "OsimError": "dynamics.errors",
        "BodyJoint": "dynamics.muscles.joint_reactions",
        "JointEnd": "dynamics.muscles.joint_reactions",
        "joint_reactions": "dynamics.muscles.joint_reactions",
        "MusclePaths": "dynamics.muscles.muscle_paths",
        "Muscles": "dynamics.muscles.muscles",
        "DegreesWarning": "dynamics.errors",
        "DhError": "dynamics.errors",
        "DynamicsError": "dynamics.errors",
        "InertiaError": "dynamics.errors",
        "InertiaWarning": "dynamics.errors",
        "JointError": "dynamics.errors",
        "JointWarning": "dynamics.errors",
        "JsonError": "dynamics.errors",
        "ModelError": "dynamics.errors",
        "MujocoError": "dynamics.errors",
        "MeshWarning": "dynamics.errors",
        "MujocoWarning": "dynamics.errors",
        "OsimWarning": "dynamics.errors",
        "MuscleError": "dynamics.errors",
        "MuscleWarning": "dynamics.errors",
        "ShapeError": "dynamics.errors",
        "ShapeWarning": "dynamics.errors",
        "SourceError": "dynamics.errors",
        "TreeError": "dynamics.errors",
        "UnknownNameError": "dynamics.errors",
        "UrdfError": "dynamics.errors",
        "Fibres": "dynamics.muscles.fibres",
        "Joint": "dynamics.model.joint",
        "JointLimits": "dynamics.model.joint_limits",
        "ball_joint": "dynamics.model.rotation_joint",
        "free_joint": "dynamics.model.rotation_joint",
        "Rotor": "dynamics.model.rotor",
        "Clearances": "dynamics.quantities.clearances",
        "load_allowed_pairs": "dynamics.formats.collision_shapes",
        "load_spheres": "dynamics.formats.collision_shapes",
        "load_scene": "dynamics.formats.collision_shapes",
        "urdf_shapes": "dynamics.formats.collision_shapes",
        "Scene": "dynamics.model.scene",
        "Shape": "dynamics.model.shape",
        "box": "dynamics.model.shape",
        "capsule": "dynamics.model.shape",
        "cylinder": "dynamics.model.shape",
        "half_space": "dynamics.model.shape",
        "hull": "dynamics.model.shape",
        "point_cloud": "dynamics.model.shape",
        "sphere": "dynamics.model.shape",
        "Body": "dynamics.model.body",
        "Frame": "dynamics.model.body",
        "RigidBodyModel": "dynamics.rigid_body_model",
        "DhRow": "dynamics.formats.dh",
        "from_dh": "dynamics.formats.dh",
        "from_modified_dh": "dynamics.formats.dh",
        "from_mujoco": "dynamics.formats.mujoco.mujoco_model",
        "Srdf": "dynamics.formats.srdf",
        "load_srdf": "dynamics.formats.srdf",
        "load_urdf": "dynamics.formats.urdf",
        "GeneralizedForce": "dynamics.quantities.generalized_forces",
        "friction": "dynamics.quantities.generalized_forces",
        "joint_springs": "dynamics.quantities.generalized_forces",
        "point_spring": "dynamics.quantities.generalized_forces",
        "in_threads": "dynamics.threads",
        "warmup": "dynamics.kernel_warmup",
        "ArmatureError": "dynamics.quantities.armature_error",
        "armature_error": "dynamics.quantities.armature_error",
        "aba": "dynamics.algorithms.aba",
        "AbaDerivatives": "dynamics.algorithms.aba_derivatives",
        "aba_derivatives": "dynamics.algorithms.aba_derivatives",
        "coriolis_product": "dynamics.algorithms.coriolis_product",
        "coriolis_transposed_product": "dynamics.algorithms.coriolis_product",
        "ExternalDerivatives": "dynamics.algorithms.external_derivatives",
        "external_derivatives": "dynamics.algorithms.external_derivatives",
        "crba": "dynamics.algorithms.crba",
        "Poses": "dynamics.quantities.kinematics",
        "centre_of_mass": "dynamics.quantities.kinematics",
        "forward_kinematics": "dynamics.quantities.kinematics",
        "frame_jacobian": "dynamics.quantities.kinematics",
        "frame_velocity": "dynamics.quantities.kinematics",
        "kinetic_energy": "dynamics.quantities.kinematics",
        "momentum": "dynamics.quantities.kinematics",
        "potential_energy": "dynamics.quantities.kinematics",
        "recentred": "dynamics.quantities.recentring",
        "rotation_vector": "dynamics.quantities.recentring",
        "BaseParameters": "dynamics.regressors.base_parameters",
        "base_parameters": "dynamics.regressors.base_parameters",
        "dynamic_parameter_names": "dynamics.regressors.dynamic_parameters",
        "dynamic_parameters": "dynamics.regressors.dynamic_parameters",
        "with_dynamic_parameters": "dynamics.regressors.dynamic_parameters",
        "regressor": "dynamics.regressors.regressor",
        "regressor_gradient": "dynamics.regressors.regressor_gradient",
        "base_wrench": "dynamics.algorithms.rnea",
        "joint_wrenches": "dynamics.algorithms.rnea",
        "rnea": "dynamics.algorithms.rnea",
        "RneaDerivatives": "dynamics.algorithms.rnea_derivatives",
        "WrenchDerivatives": "dynamics.algorithms.rnea_derivatives",
        "base_wrench_derivatives": "dynamics.algorithms.rnea_derivatives",
        "joint_wrench_derivatives": "dynamics.algorithms.rnea_derivatives",
        "rnea_derivatives": "dynamics.algorithms.rnea_derivatives",
        "RneaSecondDerivatives": "dynamics.algorithms.rnea_second_derivatives",
        "rnea_second_derivatives": "dynamics.algorithms.rnea_second_derivatives",
        "CoriolisMatrices": "dynamics.algorithms.coriolis",
        "coriolis_matrix": "dynamics.algorithms.coriolis",
        "christoffel_symbols": "dynamics.algorithms.christoffel",
        "christoffel_symbols_serial": "dynamics.papers.safeea.christoffel_recursion",
    },
)
