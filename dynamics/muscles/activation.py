"""Activation of muscles by excitation, first order, faster on the way up (De Groote and others 2016).

    a' = [(1/2 + f) / (tau_a z) + (1/2 - f) z / tau_d] (e - a),   f = tanh(b (e - a)) / 2,  z = 1/2 + 3/2 a

b smooths the change between activation and deactivation. At rest the Hamiltonian of a cost e^2 has the
second derivative 2 - 4 a b (tau_d - tau_a z^2) / (tau_d + tau_a z^2) by e. Where it is negative, pulses cost
less than a steady excitation and every finer mesh finds a cheaper chatter. With tau_d = 4 tau_a it is
positive at every activation for b below 2.27.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dynamics.errors import MuscleError, MuscleWarning, warn_user

SMOOTHING = 0.1  # b, OpenSim's default
REWARDS_CHATTER = 2.0  # b above which pulses may pay


def activation_rate(
    excitation: Any, activation: Any, rise: Any, decay: Any, smoothing: float = SMOOTHING
) -> Any:
    """a', 1/s, of arrays or of symbols; rise and decay : tau_a and tau_d, s."""
    gap = excitation - activation
    f = 0.5 * np.tanh(smoothing * gap)
    z = 0.5 + 1.5 * activation
    return ((0.5 + f) / (z * rise) + (0.5 - f) * z / decay) * gap


def check_smoothing(smoothing: float) -> float:
    """b as a number; MuscleError for one that is not positive, a warning above 2."""
    try:
        b = float(smoothing)
    except (TypeError, ValueError):
        b = np.nan
    if not 0.0 < b < np.inf:
        raise MuscleError(f"smoothing is {smoothing!r}: expected a positive number, 0.1 by default")
    if b > REWARDS_CHATTER:
        warn_user(
            f"smoothing = {b:g} makes pulses of excitation cheaper than holding it, so that every finer mesh "
            f"has a cheaper answer of more pulses: use smoothing below {REWARDS_CHATTER:g}, 0.1 by default",
            MuscleWarning,
        )
    return b
