"""First and contracted second derivatives of blocks against complex steps, and their patterns."""

import numpy as np
from random_trees import STEP


def inputs(block, nodes=5, seed=0):
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=(nodes, width)) for name, width in block.inputs.items()}


def adjoints(block, nodes=5, seed=1):
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=(nodes, width)) for name, width in block.outputs.items()}


def moved(u, name, column):
    found = {key: value.astype(complex) for key, value in u.items()}
    found[name][:, column] += 1j * STEP
    return found


def check_partials(block):
    """By complex step, relative to the largest entry."""
    u = inputs(block)
    partials, pattern = block.partials(u), block.pattern()
    assert set(partials) == set(pattern)
    for name, width in block.inputs.items():
        for column in range(width):
            stepped = block.value(moved(u, name, column))
            for output in block.outputs:
                expected = stepped[output].imag / STEP
                found = partials[output, name][:, :, column] if (output, name) in partials else 0.0 * expected
                scale = max(1.0, np.abs(partials.get((output, name), 0.0)).max())
                assert np.abs(found - expected).max() < 1e-11 * scale
                if (output, name) in pattern:
                    assert not found[:, ~pattern[output, name][:, column]].any()


def check_curvature(block):
    """By complex step of the partials, relative to the largest entry."""
    u, y = inputs(block), adjoints(block)
    curvature, pattern = block.curvature(u, y), block.curvature_pattern()
    assert set(curvature) == set(pattern)
    scale = max(1.0, *(np.abs(part).max() for part in curvature.values()))
    for pair, part in curvature.items():
        assert not part[:, ~pattern[pair]].any()
    for name, width in block.inputs.items():
        for column in range(width):
            partials = block.partials(moved(u, name, column))
            for other in block.inputs:
                expected = contracted(partials, y, other, u)
                found = 0.0 * expected
                if (name, other) in curvature:
                    found = curvature[name, other][:, column, :]
                elif (other, name) in curvature:
                    found = curvature[other, name][:, :, column]
                assert np.abs(found - expected).max() < 1e-11 * scale


def contracted(partials, y, name, u):
    total = np.zeros(u[name].shape)
    for output in y:
        if (output, name) in partials:
            total += np.einsum("ki,kij->kj", y[output], partials[output, name].imag) / STEP
    return total
