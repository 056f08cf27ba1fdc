"""Electromyography beside computed activations: a table read, its channels matched with muscles, and r.

Activation and a rectified, filtered recording have no common unit: the correlation over time is compared.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from problems.human.assessment.criteria import agreement
from problems.human.motions.motion_file import check_times
from problems.human.muscles.muscle_use import MuscleUse
from problems.human.opensim.storage import read_storage
from trajopt.base.arguments import list_names
from trajopt.base.errors import OptionError, ProblemError, near_matches

#: Channel -> beginnings of the names of its muscles in the usual models, without their side.
CHANNELS: Mapping[str, tuple[str, ...]] = {
    "soleus": ("soleus",),
    "gastrocnemius": ("gasmed", "gaslat", "med_gas", "lat_gas", "gastroc"),
    "tibialis_anterior": ("tibant", "tib_ant"),
    "medial_hamstrings": ("semimem", "semiten"),
    "biceps_femoris": ("bflh", "bifemlh"),
    "vastus_lateralis": ("vaslat", "vas_lat"),
    "vastus_medialis": ("vasmed", "vas_med"),
    "vastus_medius": ("vasmed", "vas_med"),
    "rectus_femoris": ("recfem", "rect_fem"),
    "gluteus_maximus": ("glmax", "glut_max"),
    "gluteus_medius": ("glmed", "glut_med"),
}


@dataclass(frozen=True, eq=False)
class Electromyography:
    """Recorded activity of channels (K, channels) at times (K,) s, and the muscles that each one is of."""

    time: np.ndarray
    activity: np.ndarray
    muscles: Mapping[str, tuple[str, ...]]

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the channels, in the order of the columns."""
        return tuple(self.muscles)

    def at(self, channel: str, time: np.ndarray) -> np.ndarray:
        """(k,) activity of a channel at other times, NaN where it was not recorded."""
        column = self.activity[:, self.channels.index(channel)]
        return np.interp(time, self.time, column, left=np.nan, right=np.nan)


def read_electromyography(
    path: str | os.PathLike[str],
    names: Sequence[str],
    side: str = "r",
    muscles: Mapping[str, str | tuple[str, ...]] | None = None,
) -> Electromyography:
    """Read a .sto or .mot whose columns are channels, of muscles by their names or by usual ones of one leg.

    names : of the muscles, `MuscleUse.names`;  side : "r" or "l"
    muscles : channel -> its muscle or muscles, where the channel has another name
    Raises OptionError for channels and muscles that do not exist, ProblemError where no channel is one of
    the known names, and with their line or row for gaps and times that do not increase.
    """
    if side not in ("r", "l"):
        raise OptionError(f"side is {side!r}: give 'r' or 'l'")
    table = read_storage(path)
    check_times(table.time, Path(path))
    given = {k: (x,) if isinstance(x, str) else tuple(x) for k, x in (muscles or {}).items()}
    for channel, chosen in given.items():
        if channel not in table.columns:
            raise OptionError(
                f"{path} has no column '{channel}'{near_matches(channel, list(table.columns))}: it has "
                f"{list_names(list(table.columns))}"
            )
        for name in chosen:
            if name not in names:
                raise OptionError(f"there is no muscle '{name}': there are {list_names(names)}")
    for channel in table.columns:
        usual = tuple(n for n in names if n.endswith(f"_{side}") and n.startswith(_beginnings(channel)))
        matching = (channel,) if channel in names else usual
        if matching:
            given.setdefault(channel, matching)
    if not given:
        raise ProblemError(
            f"{path} has {list_names(list(table.columns))}, of which none is a muscle of the model: name the "
            "muscles of its columns, muscles={'channel 3': 'soleus_r'}"
        )
    return Electromyography(table.time, np.stack([table.columns[k] for k in given], axis=1), given)


def _beginnings(channel: str) -> tuple[str, ...]:
    return CHANNELS.get(channel.strip().lower().replace(" ", "_"), ("\0",))


def correlations(use: MuscleUse, recorded: Electromyography) -> dict[str, float]:
    """Channel -> Pearson's r of its activity and the mean activation of its muscles, over common times.

    It is NaN where one of the two does not change. Raises ProblemError where fewer than three times of the
    motion were recorded.
    """
    agreements = {}
    for channel, names in recorded.muscles.items():
        activity = recorded.at(channel, use.time)
        known = np.isfinite(activity)
        if known.sum() < 3:
            raise ProblemError(
                f"'{channel}' is recorded from {recorded.time[0]:g} to {recorded.time[-1]:g} s, the motion "
                f"is from {use.time[0]:g} to {use.time[-1]:g} s: give a recording of the same time"
            )
        mean = use.activation[:, [use.of(name) for name in names]].mean(axis=1)
        agreements[channel] = agreement(mean[known], activity[known])[0]
    return agreements
