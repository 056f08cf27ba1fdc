"""Poses of frames fixed to links, without velocities or derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dynamics.kernels.compile import kernel
from dynamics.kernels.outward_sweep import FRAME, ORIGIN, POSED, clear_pose, pose
from dynamics.kernels.pose import rotated_frame
from dynamics.kernels.simd import gather, store, width
from dynamics.kernels.spatial_algebra import (
    add,
    constant3,
    constant_frame,
    load3,
    load_frame,
    rotate,
    workspace,
)
from dynamics.model.packed_model import COORDINATE, PARENT
from dynamics.quantities.frames import frame_place

if TYPE_CHECKING:
    from dynamics.kernels.node_batch import Batch
    from dynamics.model.body import Frame
    from dynamics.model.kinematic_tree import KinematicTree


@kernel
def _poses(tree, numbers, q, carriers, local, out):
    blocks = out.shape[2]
    work = workspace(q, tree.shape[0] * POSED)
    for block in range(blocks):
        clear_pose(work, POSED)
        for body in range(1, tree.shape[0]):
            qi = gather(q, block * width(q), tree[body, COORDINATE])
            pose(work, numbers, body, body * POSED, tree[body, PARENT] * POSED, qi)
        for index in range(len(carriers)):
            at = carriers[index] * POSED
            axes, origin = load_frame(work, at + FRAME), load3(work, at + ORIGIN)
            origin = add(origin, rotate(axes, constant3(local, index, 9)))
            axes = rotated_frame(axes, constant_frame(local, index, 0))
            first = index * 12 * blocks + block
            for row in range(3):
                for column in range(3):
                    store(out, first + (3 * row + column) * blocks, axes[column][row])
                store(out, first + (9 + row) * blocks, origin[row])


def pose_values(model: KinematicTree, nodes: Batch, frames: list[Frame] | None = None) -> np.ndarray:
    """(frames, 12, nodes): rotation matrix row by row, then position; None = the links' frames in order."""
    packed = model.packed
    if frames is None:
        carriers, local = packed.body_of_link, packed.link_frames
    else:
        places = [frame_place(model, frame) for frame in frames]
        carriers = np.array([body for body, _ in places], dtype=np.int64)
        local = np.array([place for _, place in places]).reshape(-1, 12)
    out = nodes.slots(len(carriers), 12, cleared=False)
    _poses(packed.tree, packed.numbers, nodes.arrays[0], carriers, local, out)
    return nodes.nodes_last(out)
