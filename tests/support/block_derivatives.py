"""First and contracted second derivatives of blocks against slopes, and their patterns."""

import numpy as np


def inputs(block, nodes=5, seed=0):
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=(nodes, width)) for name, width in block.inputs.items()}


def adjoints(block, nodes=5, seed=1):
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=(nodes, width)) for name, width in block.outputs.items()}


def moved(u, name, column, t):
    return {**u, name: u[name] + t * (np.arange(u[name].shape[1]) == column)}


def check_partials(block, slope, step=0.04, seed=0, u=None, within=1e-11):
    """By a slope of the values, relative to the largest entry.

    step : of differences along q; of all else blocks are polynomials
    u : inputs, random ones unless given
    """
    u = inputs(block, seed=seed) if u is None else u
    partials, pattern = block.partials(u), block.pattern()
    assert set(partials) == set(pattern)
    for name, width in block.inputs.items():
        for column in range(width):
            stepped = slope(
                lambda t, at=(name, column): block.value(moved(u, *at, t)), step if name == "q" else 1.0
            )
            for output in block.outputs:
                expected = stepped[output]
                found = partials[output, name][:, :, column] if (output, name) in partials else 0.0 * expected
                scale = max(1.0, np.abs(partials.get((output, name), 0.0)).max())
                assert np.abs(found - expected).max() < within * scale, (output, name)
                if (output, name) in pattern:
                    assert not found[:, ~pattern[output, name][:, column]].any()


def check_curvature(block, slope, step=0.04, seed=0, u=None, within=1e-11):
    """By a slope of the partials, relative to the largest entry; all else as in `check_partials`."""
    u = inputs(block, seed=seed) if u is None else u
    y = adjoints(block, nodes=len(next(iter(u.values()))))
    curvature, pattern = block.curvature(u, y), block.curvature_pattern()
    assert set(curvature) == set(pattern)
    scale = max(1.0, *(np.abs(part).max() for part in curvature.values()))
    for pair, part in curvature.items():
        assert not part[:, ~pattern[pair]].any()
    for name, width in block.inputs.items():
        for column in range(width):
            partials = slope(
                lambda t, at=(name, column): block.partials(moved(u, *at, t)), step if name == "q" else 1.0
            )
            for other in block.inputs:
                expected = contracted(partials, y, other, u)
                found = 0.0 * expected
                if (name, other) in curvature:
                    found = curvature[name, other][:, column, :]
                elif (other, name) in curvature:
                    found = curvature[other, name][:, :, column]
                assert np.abs(found - expected).max() < within * scale, (name, other)


def contracted(partials, y, name, u):
    total = np.zeros(u[name].shape)
    for output in y:
        if (output, name) in partials:
            total += np.einsum("ki,kij->kj", y[output], partials[output, name])
    return total
