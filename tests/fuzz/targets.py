"""All targets of the fuzzer, in the order in which they are tried."""

from __future__ import annotations

from tests.fuzz.calls import CallTarget
from tests.fuzz.judging import Target
from tests.fuzz.robots import JsonTarget, UrdfTarget

TARGETS: tuple[Target, ...] = (UrdfTarget(), JsonTarget(), CallTarget())
