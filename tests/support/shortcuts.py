"""Imports that run against the arrows: methods of objects that import a higher room when they are called."""

# (module, module that it imports): nothing else may import against the arrows of the architecture
DYNAMICS_SHORTCUTS = frozenset(
    {
        ("dynamics.model.model", "dynamics.kernels.packed_model"),  # RigidBodyModel.packed
        ("dynamics.model.model", "dynamics.algorithms.aba"),  # RigidBodyModel.forward_dynamics
        ("dynamics.model.model", "dynamics.quantities.kinematics"),  # RigidBodyModel.skeleton
        ("dynamics.model.model", "dynamics.blocks.model_block"),  # RigidBodyModel.block
        ("dynamics.model.model", "dynamics.blocks.declared_quantities"),  # RigidBodyModel.quantities
    }
)
