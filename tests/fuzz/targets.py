"""All targets of the fuzzer, in the order in which they are tried."""

from __future__ import annotations

from tests.fuzz.arm_problems import ArmTarget
from tests.fuzz.calls import CallTarget
from tests.fuzz.command_lines import CommandTarget
from tests.fuzz.judging import Target
from tests.fuzz.linear_systems import SystemTarget
from tests.fuzz.robots import JsonTarget, UrdfTarget
from tests.fuzz.saved_files import CheckpointTarget, SolutionTarget
from tests.fuzz.tables import TableTarget

TARGETS: tuple[Target, ...] = (
    UrdfTarget(),
    JsonTarget(),
    CallTarget(),
    TableTarget(),
    SolutionTarget(),
    CheckpointTarget(),
    CommandTarget(),
    SystemTarget(),
    ArmTarget(),
)
