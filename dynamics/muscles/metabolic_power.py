"""Metabolic power of muscles: heat of activation, maintenance and shortening, and the work of their fibres.

    E' = m (heat rates per mass) + W',    W' = -F_active v,    m = F_max / sigma rho l_opt

by Bhargava, Pandy and Anderson (Journal of Biomechanics 37(1), 2004), or by Umberger, Gerritsen and Martin
(Computer Methods in Biomechanics and Biomedical Engineering 6(2), 2003) as Umberger changed it (Journal of
the Royal Society Interface 7(50), 2010), with constants and limits as in OpenSim's two probes: heat of at
least 1 W per kg of muscle, and no negative power.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from dynamics.arguments import real_array, short_repr
from dynamics.errors import MuscleError, ShapeError
from dynamics.muscles.curves import active_force
from dynamics.muscles.fibres import Fibres, FibreState

Array = np.ndarray
Law = Literal["bhargava", "umberger"]
DENSITY = 1059.7  # kg/m^3
SPECIFIC_TENSION = 0.25e6  # Pa
LEAST_HEAT = 1.0  # W/kg
ACTIVATION, MAINTENANCE = (40.0, 133.0), (74.0, 111.0)  # W/kg, of slow and of fast fibres
MAINTENANCE_OF_LENGTH = ((0.5, 1.0, 1.5), (0.5, 1.0, 0.0))  # optimal lengths, share
SHORTENING = 0.25  # heat of shortening, of force times speed
AEROBIC = 1.5  # Umberger's factor of exercise above anaerobic level
SLOWER = 2.5  # times that slow fibres are slower than fast ones
SLOW_HEAT, FAST_HEAT = 100.0, 153.0  # W/kg, of shortening at the largest speed of slow and of fast fibres
LENGTHENING = 4.0  # heat of lengthening over that of slow fibres that shorten


def metabolic_power(
    fibres: Fibres,
    state: FibreState,
    excitation: ArrayLike,
    activation: ArrayLike,
    law: Law = "bhargava",
    slow: ArrayLike = 0.5,
    specific_tension: float = SPECIFIC_TENSION,
) -> Array:
    """(K, m) W, metabolic power of every muscle at K times; without the basal rate.

    state : of the fibres, from `Fibres.state`;  excitation, activation : (K, m), 0 to 1
    slow : share of slow-twitch fibres, of all muscles or (m,);  specific_tension : Pa

    Raises MuscleError for another law, shares outside 0 to 1 and a tension that is not positive, ShapeError
    for arrays of other shapes.
    """
    if law not in get_args(Law):
        raise MuscleError(f"law is {short_repr(law)}: expected {' or '.join(get_args(Law))}")
    e, a = (real_array(x, name) for x, name in ((excitation, "excitation"), (activation, "activation")))
    if e.shape != state.length.shape or a.shape != state.length.shape:
        raise ShapeError(
            f"excitation has shape {e.shape} and activation {a.shape}: {state.length.shape} is expected"
        )
    share = np.broadcast_to(real_array(slow, "slow"), (fibres.count,))
    if not (np.all((share >= 0.0) & (share <= 1.0)) and 0.0 < specific_tension < np.inf):
        raise MuscleError(
            f"slow is {short_repr(slow)} and specific_tension {specific_tension}: expected shares from 0 "
            "to 1 and a positive number of Pa"
        )
    mass = fibres.max_isometric_force / specific_tension * DENSITY * fibres.optimal_fiber_length
    recruited = share * np.sin(0.5 * np.pi * e), (1.0 - share) * (1.0 - np.cos(0.5 * np.pi * e))
    heat = mass * (_bhargava if law == "bhargava" else _umberger)(fibres, state, mass, recruited, e, a)
    work = -state.active * state.speed
    heat = np.where(heat + work < 0.0, -work, heat)
    return np.maximum(heat, LEAST_HEAT * mass) + work


def _bhargava(
    fibres: Fibres, state: FibreState, mass: Array, recruited: tuple[Array, Array], e: Array, a: Array
) -> Array:
    """Heat rates, W/kg."""
    activation, maintenance = (
        sum(rate * part for rate, part in zip(rates, recruited, strict=True))
        for rates in (ACTIVATION, MAINTENANCE)
    )
    force = state.active + state.passive
    shortening = np.where(state.speed <= 0.0, -SHORTENING * force * state.speed, 0.0) / mass
    return activation + np.interp(state.normal_length, *MAINTENANCE_OF_LENGTH) * maintenance + shortening


def _umberger(
    fibres: Fibres, state: FibreState, mass: Array, recruited: tuple[Array, Array], e: Array, a: Array
) -> Array:
    """Heat rates, W/kg; slow fibres are recruited before fast ones, as by Bhargava."""
    total = recruited[0] + recruited[1]
    slow = np.divide(recruited[0], total, out=np.ones_like(total), where=total > 0.0)
    longer = state.normal_length > 1.0
    isometric = np.where(longer, active_force(state.normal_length, fibres.width_scale)[0], 1.0)
    active = np.where(e > a, e, 0.5 * (e + a))
    activation = (128.0 * (1.0 - slow) + 25.0) * (0.4 + 0.6 * isometric) * active**0.6
    speed = state.normal_speed  # of fast fibres' largest
    of_slow = np.minimum(-SLOW_HEAT * SLOWER * speed, SLOW_HEAT)
    shortening = (slow * of_slow - (1.0 - slow) * FAST_HEAT * speed) * active**2
    lengthening = LENGTHENING * SLOW_HEAT * SLOWER * speed * active
    return AEROBIC * (activation + isometric * np.where(speed <= 0.0, shortening, lengthening))
