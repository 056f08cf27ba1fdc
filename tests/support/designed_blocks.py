"""Blocks of robots with designed properties: inputs, central differences, robots built with the numbers."""

import numpy as np

NODES = 3


def all_varying(values):
    """Arguments of `RigidBodyModel.designed_block` where every component of these properties varies."""
    return {name: np.full(np.shape(value) or (1,), np.nan) for name, value in values.items()}


def inputs(block, values, seed=0):
    """A random motion at three nodes, (NODES, width) each, and the properties at all of them."""
    rng = np.random.default_rng(seed)
    moving = {name: rng.normal(size=(NODES, width)) for name, width in block.inputs.items()}
    return moving | {f"design:{name}": np.tile(value, (NODES, 1)) for name, value in values.items()}


def weights_of(block):
    """Random weights of the outputs, (NODES, width) each."""
    return {name: np.random.default_rng(1).normal(size=(NODES, w)) for name, w in block.outputs.items()}


def close(found, expected, tolerance):
    """Both agree relative to the largest expected number, or to one where all are smaller."""
    scale = max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=tolerance * scale)


def differences(function, u, name, step):
    """d function / d input, (..., width), by central differences."""
    columns = []
    for component in range(u[name].shape[1]):
        shift = np.zeros(u[name].shape)
        shift[:, component] = step
        ahead, behind = (function(u | {name: u[name] + sign * shift}) for sign in (1.0, -1.0))
        columns.append((ahead - behind) / (2.0 * step))
    return np.stack(columns, axis=-1)


def weighted_slopes(block, weights, at):
    """d sum(weight . output) / d all inputs in their order, (NODES, widths), by the block's own partials."""
    slopes = {name: np.zeros((NODES, width)) for name, width in block.inputs.items()}
    for (output, name), part in block.partials(at).items():
        slopes[name] += np.einsum("km,kmi->ki", weights[output], part)
    return np.concatenate(list(slopes.values()), axis=1)


def second_derivative(curvature, first, second, shape):
    """d^2 (weight . outputs) / d first d second of what `curvature` gave; zero without such a pair."""
    if (first, second) in curvature:
        return curvature[first, second]
    return curvature[second, first].transpose(0, 2, 1) if (second, first) in curvature else np.zeros(shape)


def same_as_built(block, plain, u):
    """Values, partials and curvature are those of a robot built with the numbers."""
    weights = weights_of(block)
    for found, expected in (
        (block.value(u), plain.value(u)),
        (block.partials(u), plain.partials(u)),
        (block.curvature(u, weights), plain.curvature(u, weights)),
    ):
        for key, part in expected.items():
            close(found[key], part, 1e-12)
