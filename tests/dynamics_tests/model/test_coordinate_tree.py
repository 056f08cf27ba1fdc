"""The tree of the coordinates against paths that are walked body by body."""

import numpy as np
from random_trees import SEEDS, random_tree
from tiers import every

from dynamics.model.coordinate_tree import coordinate_tree


def path_of(model, coordinate):
    """The coordinates from the ground to one, joint by joint."""
    found, link = [], list(model.coordinate).index(coordinate)
    while link >= 0:
        found.insert(0, int(model.coordinate[link]))
        link = int(model.parent[link])
    return found


@every("seed", SEEDS[:12])
def test_paths_and_what_two_of_them_share_are_those_of_the_robot(seed):
    model = random_tree(seed, rotors=True)
    tree = model.packed.coordinate_tree
    paths = [path_of(model, i) for i in range(model.n)]
    assert [row[:length].tolist() for row, length in zip(tree.paths, tree.lengths, strict=True)] == paths
    shared = [[len(set(a) & set(b)) for b in paths] for a in paths]
    np.testing.assert_array_equal(tree.shared, shared)
    np.testing.assert_array_equal(tree.related, model.packed.same_branch)
    for i, a in enumerate(paths):
        for c in range(model.n):
            assert tree.reached[i, c] == sum(tree.related[k, c] for k in a)


@every("seed", SEEDS[:12])
def test_what_a_coordinate_carries_stands_last_among_its_relatives(seed):
    model = random_tree(seed, rotors=True)
    tree = model.packed.coordinate_tree
    relatives, starts = tree.relatives
    for c in range(model.n):
        mine = relatives[starts[c] : starts[c + 1]].tolist()
        length = tree.lengths[c]
        assert mine[:length] == path_of(model, c)
        assert set(mine[length - 1 :]) == {i for i in range(model.n) if c in path_of(model, i)}


def test_pairs_hold_every_coordinate_once_and_its_carrier_before_it():
    # 0 carries 1 and 2, 2 carries 4, 4 carries 3: numbers need not follow the order.
    tree = coordinate_tree([(0, -1), (1, 0), (2, 0), (4, 2), (3, 4)])
    assert tree.pairs.tolist() == [[4, 3], [0, 2], [1, 1]]
    assert tree.order.tolist() == [0, 1, 2, 4, 3]
