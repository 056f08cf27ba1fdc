"""The runs of a mask cover what is true in it, in order, and none touches the next."""

from itertools import pairwise

import numpy as np
from tiers import every

from trajopt.base.arrays import runs


@every("share", [0.0, 0.3, 0.7, 1.0])
@every("count", [0, 1, 40])
def test_runs_cover_the_mask_and_do_not_touch(count, share):
    mask = np.random.default_rng(3).random(count) < share
    found = runs(mask)
    covered = np.zeros(count, dtype=bool)
    for each in found:
        assert each.start < each.stop and not covered[each].any()
        covered[each] = True
    np.testing.assert_array_equal(covered, mask)
    assert all(one.stop < other.start for one, other in pairwise(found))
