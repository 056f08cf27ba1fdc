"""A robot model as the two flat arrays that kernels read.

Body 0 is the ground; the links follow, and every exact rotor right after the link whose coordinate it
shares: a rotor is a leaf on the parent of that link, with gear_ratio as ratio. So kernels know one kind of
body, and `len(tree) - 1 >= links`. `checks/mass_check.py` states the same rotors a second time in NumPy, on
purpose: it is the oracle of these arrays.

Inside kernels the axes of a body are turned so that its joint axis is z; `BASIS` turns back to link axes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dynamics.model.checks.tree_checks import Robot, coordinate_indices, parent_indices
from dynamics.model.coordinate_tree import CoordinateTree, coordinate_tree
from dynamics.model.joint import ROTATION_VECTOR, Joint
from dynamics.model.rotation_joint import rotation_joints

# columns of `tree`
PARENT, COORDINATE, LINK = 0, 1, 2
FIRST, NEXT = 3, 4  # whether no earlier body has this coordinate, and the next body that has it, 0 = none
# 1, 2 and 3 of the three bodies in a row of a rotation vector, 0 of all others. The third is the link that it
# turns and stands for the links of all three; the first has R_0 R_c and the position.
TURNED = 5
# columns of `numbers`; row 0 (the ground) holds minus the gravity field at POSITION
ROTATION = 0  # axes at displacement zero, in the parent's axes, one after the other
POSITION = 9  # origin at displacement zero, in the parent's axes
RATIO, OFFSET = 12, 13  # displacement = ratio q + offset
TURN, SLIDE = 14, 15  # rad about z and m along z per unit of displacement
ARMATURE = 16  # adds to the diagonal of M, on the body that owns the coordinate
MASS, MOMENT = 17, 18  # mass and mass times centre of mass
INERTIA = 21  # about the origin of the body: xx, xy, xz, yy, yz, zz
BASIS = 27  # axes of the link frame, in the body's axes
COLUMNS = 36


@dataclass(frozen=True, eq=False)
class PackedModel:
    """The arrays of one model, and which coordinates and bodies belong together.

    tree : (bodies + 1, 6) int, numbers : (bodies + 1, 36)
    body_of_link : (links,) row of every link
    names : (n,) of the coordinates, for messages
    siblings_only : whether bodies that share a coordinate also share their parent, as rotors do
    ancestry : (n, n) bool, [i, j] whether a body of coordinate i carries or is a body of coordinate j
    """

    tree: np.ndarray
    numbers: np.ndarray
    body_of_link: np.ndarray
    names: tuple[str, ...]
    siblings_only: bool
    ancestry: np.ndarray

    @cached_property
    def n(self) -> int:
        return len(self.names)

    @cached_property
    def links(self) -> int:
        return len(self.body_of_link)

    @cached_property
    def same_branch(self) -> np.ndarray:
        """(n, n) bool, whether two coordinates lie on one branch: where M can be nonzero."""
        related = self.ancestry | self.ancestry.T
        related.flags.writeable = False
        return related

    @cached_property
    def turned(self) -> np.ndarray | None:
        """The column TURNED, or None without rotation vectors: kernels compile without them then."""
        column = np.ascontiguousarray(self.tree[:, TURNED])
        return column if column.any() else None

    @cached_property
    def shares_coordinates(self) -> bool:
        """True if several bodies have one coordinate, so that kernels add to entries of matrices."""
        return len(self.tree) - 1 > self.n

    @cached_property
    def entries_to_clear(self) -> np.ndarray:
        """Entries i n + j of an (n, n) matrix that kernels set to zero first: all, or those never written."""
        return np.arange(self.n**2) if self.shares_coordinates else np.flatnonzero(~self.same_branch)

    @cached_property
    def coordinate_tree(self) -> CoordinateTree:
        """The tree of the coordinates of a model whose `siblings_only` is True."""
        first = self.tree[1:][self.tree[1:, FIRST] == 1]
        carriers = self.tree[first[:, PARENT], COORDINATE]
        pairs = list(zip(first[:, COORDINATE].tolist(), carriers.tolist(), strict=True))
        return coordinate_tree(pairs)

    @cached_property
    def link_frames(self) -> np.ndarray:
        """(links, 12) axes and origin of every link's frame, in the axes of its body."""
        return np.pad(self.numbers[self.body_of_link, BASIS:COLUMNS], ((0, 0), (0, 3)))

    def path(self, link: int) -> np.ndarray:
        """(n,) bool, the coordinates that move a link."""
        moving, body = np.zeros(self.n, dtype=bool), int(self.body_of_link[link])
        while body > 0:
            moving[self.tree[body, COORDINATE]] = True
            body = int(self.tree[body, PARENT])
        return moving

    def branch(self, link: int) -> np.ndarray:
        """(n,) bool, the coordinates that a link's joint wrench depends on: its path and its subtree."""
        acting, carried = self.path(link), {int(self.body_of_link[link])}
        for body, (parent, coordinate) in enumerate(self.tree[:, :2].tolist()):
            if parent in carried:
                carried.add(body)
                acting[coordinate] = True
        return acting


class _RowBuilder:
    """Collects the rows of the arrays, body by body."""

    def __init__(self) -> None:
        self.tree: list[tuple[int, int, int]] = [(-1, -1, -1)]
        self.numbers: list[np.ndarray] = [np.zeros(COLUMNS)]
        self.bases: list[np.ndarray] = [np.eye(3)]

    def append(
        self, parent: int, coordinate: int, link: int, joint: Joint, ratio: float, offset: float
    ) -> int:
        """Add a massless body on `joint` and return its row."""
        turned = joint.kind == ROTATION_VECTOR
        basis = np.eye(3) if turned else axes_with_z(joint.axis)
        centre = basis if joint.centre is None else joint.centre
        to_parent = self.bases[parent].T
        row = np.zeros(COLUMNS)
        row[ROTATION:POSITION] = (to_parent @ joint.rotation @ centre).T.ravel()
        row[POSITION:RATIO] = to_parent @ joint.position
        row[RATIO], row[OFFSET] = ratio, offset
        row[BASIS:COLUMNS] = basis.ravel()
        if turned:  # kernels that know no rotation vectors get the serial form; this one would mislead
            row[RATIO] = np.nan
        else:
            row[TURN], row[SLIDE] = joint.motion.turn, joint.motion.slide
        self.tree.append((parent, coordinate, link))
        self.numbers.append(row)
        self.bases.append(basis)
        return len(self.tree) - 1

    def add_mass(self, body: int, mass: float, centre: np.ndarray, inertia: np.ndarray) -> None:
        """Add mass to a body: centre and inertia in its link axes."""
        if body == 0:
            return  # the ground moves nothing
        basis, row = self.bases[body], self.numbers[body]
        c = basis.T @ centre
        about_origin = basis.T @ inertia @ basis + mass * (c @ c * np.eye(3) - np.outer(c, c))
        row[MASS] += mass
        row[MOMENT : MOMENT + 3] += mass * c
        row[INERTIA : INERTIA + 6] += about_origin[np.triu_indices(3)]


def pack(model: Robot) -> PackedModel:
    """The arrays of a model whose bodies form a tree; `KinematicTree.packed` computes them once."""
    rows = _RowBuilder()
    rows.numbers[0][POSITION : POSITION + 3] = -model.gravity
    rows.numbers[0][BASIS:COLUMNS] = np.eye(3).ravel()
    names = tuple(body.joint.name for body in model.bodies if body.joint.mimics is None)
    indices = zip(parent_indices(model.bodies), coordinate_indices(model.bodies), strict=True)
    body_of_link: list[int] = []
    for link, (body, (carrier, coordinate)) in enumerate(zip(model.bodies, indices, strict=True)):
        joint, parent = body.joint, 0 if carrier < 0 else body_of_link[carrier]
        row = rows.append(parent, coordinate, link, joint, joint.ratio, joint.offset)
        rows.add_mass(row, body.mass, body.centre_of_mass, body.inertia)
        body_of_link.append(row)
        add_rotor(rows, model.rotors, parent, coordinate, row, joint)
    tree = with_shared_coordinates(np.array(rows.tree, dtype=np.int64))
    for joint in rotation_joints(model.bodies):
        three = body_of_link[joint.first_link : joint.first_link + 3]
        tree[three, TURNED] = 1, 2, 3
        tree[three[:2], LINK] = -1
        body_of_link[joint.first_link : joint.first_link + 2] = three[2:] * 2
    ancestry, siblings_only = relations(tree, len(names))
    return PackedModel(tree, np.array(rows.numbers), np.array(body_of_link), names, siblings_only, ancestry)


def add_rotor(rows: _RowBuilder, mode: str, parent: int, coordinate: int, driven: int, joint: Joint) -> None:
    """Add the joint's rotor as a body on the parent, or as an armature and a point mass there."""
    rotor = joint.rotor
    if rotor is None or rotor.is_massless or mode == "none":
        return
    ratio = rotor.gear_ratio * joint.ratio
    if mode == "armature":
        rows.numbers[driven][ARMATURE] = ratio**2 * rotor.axial_inertia
        rows.add_mass(parent, rotor.mass, rotor.position + rotor.centre_of_mass, np.zeros((3, 3)))
        return
    spindle = Joint(f"rotor of {joint.name}", axis=rotor.axis, position=rotor.position)
    row = rows.append(parent, coordinate, -1, spindle, ratio, rotor.gear_ratio * joint.offset)
    rows.add_mass(row, rotor.mass, rotor.centre_of_mass, rotor.inertia)


def axes_with_z(axis: np.ndarray) -> np.ndarray:
    """A rotation matrix whose third column is the unit vector `axis`; the identity for z itself."""
    x, y, z = axis
    if z == 1.0:
        return np.eye(3)
    if z < -0.5:  # near -z the short formula below divides by zero: turn by half about x first
        return np.diag([1.0, -1.0, -1.0]) @ axes_with_z(np.array([x, -y, -z]))
    s = 1.0 / (1.0 + z)
    return np.array([[1.0 - s * x * x, -s * x * y, x], [-s * x * y, 1.0 - s * y * y, y], [-x, -y, z]])


def with_shared_coordinates(rows: np.ndarray) -> np.ndarray:
    """Add the columns FIRST and NEXT."""
    tree = np.zeros((len(rows), 6), dtype=np.int64)
    tree[:, :FIRST] = rows
    last: dict[int, int] = {}
    for body, coordinate in enumerate(tree[:, COORDINATE].tolist()):
        if coordinate in last:
            tree[last[coordinate], NEXT] = body
        else:
            tree[body, FIRST] = 1
        last[coordinate] = body
    return tree


def relations(tree: np.ndarray, n: int) -> tuple[np.ndarray, bool]:
    """Pairs of coordinates on one branch, and whether equal coordinates always have equal parents."""
    ancestry = np.zeros((n, n), dtype=bool)
    for body in range(1, len(tree)):
        above = body
        while above > 0:
            ancestry[tree[above, COORDINATE], tree[body, COORDINATE]] = True
            above = tree[above, PARENT]
    parents: dict[int, set[int]] = {}
    for parent, coordinate in tree[1:, :2].tolist():
        parents.setdefault(coordinate, set()).add(parent)
    return ancestry, all(len(group) == 1 for group in parents.values())
