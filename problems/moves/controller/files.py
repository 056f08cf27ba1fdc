"""Files that controllers read: ROS 2 messages as JSON or YAML, programs of Universal Robots, tables in C."""

from __future__ import annotations

import json
import os
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trajopt.base.arguments import check_positive, short_repr
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError, printable_name
from trajopt.base.files import whole_file, write_text
from trajopt.base.tolerances import AGREEMENT

NANO = 10**9
UR_JOINTS = 6
MAGIC = b"TRAJOPT1"


def write_ros(
    path: str | os.PathLike[str],
    joint_names: Sequence[str],
    times: Array,
    positions: Array,
    velocities: Array,
    accelerations: Array | None,
) -> None:
    """Write a trajectory_msgs/JointTrajectory as .json or .yaml."""
    ending = Path(path).suffix
    if ending not in (".json", ".yaml", ".yml"):
        raise OptionError(f"{path} has the ending {ending!r}: a message is written as .json or .yaml")
    empty = [[]] * len(times)
    columns = (
        positions.tolist(),
        velocities.tolist(),
        accelerations.tolist() if accelerations is not None else empty,
    )
    points = [
        {
            "positions": q,
            "velocities": v,
            "accelerations": a,
            "effort": [],
            "time_from_start": dict(zip(("sec", "nanosec"), divmod(round(t * NANO), NANO), strict=True)),
        }
        for t, q, v, a in zip(times.tolist(), *columns, strict=True)
    ]
    message = {
        "header": {"stamp": {"sec": 0, "nanosec": 0}, "frame_id": ""},
        "joint_names": list(joint_names),
        "points": points,
    }
    write_text(path, json.dumps(message, indent=1) + "\n" if ending == ".json" else _yaml(message))


def _yaml(message: Mapping[str, Any]) -> str:
    """The message as YAML, a line for each field of a point; JSON's lists and strings are YAML, too."""
    lines = [f"{name}: {json.dumps(message[name])}" for name in ("header", "joint_names")]
    lines.append("points:")
    for point in message["points"]:
        fields = [f"{name}: {json.dumps(value)}" for name, value in point.items()]
        lines += [f"{'  ' if i else '- '}{field}" for i, field in enumerate(fields)]
    return "\n".join(lines) + "\n"


def write_urscript(
    path: str | os.PathLike[str],
    joint_names: Sequence[str],
    q: Callable[[Array], Array],
    duration: float,
    rate: float,
) -> None:
    """Write a program that sends the joints' positions with `servoj`, one every 1/rate seconds."""
    check_positive("rate", rate)
    if len(joint_names) != UR_JOINTS:
        raise OptionError(
            f"the robot has {len(joint_names)} joints ({', '.join(joint_names)}): a program of Universal "
            f"Robots moves {UR_JOINTS}"
        )
    count = round(duration * rate)
    if abs(count - duration * rate) > AGREEMENT * count:
        raise OptionError(
            f"the duration of {duration:.6g} s is {duration * rate:.6g} cycles at {rate:g} Hz: hand over "
            f"with cycle=1/{rate:g}"
        )
    rows = q(np.minimum(np.arange(count + 1) / rate, duration)).tolist()
    first, *others = ([round(x, 9) for x in row] for row in rows)
    lines = [
        "def trajectory():",
        f"  # joints: {printable_name(', '.join(joint_names))}",
        f"  movej({first})",
        *(f"  servoj({row}, t={1.0 / rate!r}, lookahead_time=0.03, gain=500)" for row in others),
        "  stopj(2.0)",
        "end",
    ]
    write_text(path, "\n".join(lines) + "\n")


def write_c_header(path: str | os.PathLike[str], name: str, joint_names: Sequence[str], rows: Array) -> None:
    """Write rows (k, 1 + 3 n) of time, positions, velocities and accelerations as constant arrays of C."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise OptionError(f"name = {short_repr(name)}: give a name of C, letters, digits and underscores")
    n, count = len(joint_names), len(rows)
    names = printable_name(", ".join(joint_names)).replace("*/", "* /")
    lines = [
        f"/* joints: {names}; s, rad or m, and per s and s^2 */",
        f"#ifndef {name.upper()}_H",
        f"#define {name.upper()}_H",
        f"#define {name.upper()}_POINTS {count}",
        f"#define {name.upper()}_JOINTS {n}",
        f"static const double {name}_time[{count}] = {{{_numbers(rows[:, 0])}}};",
    ]
    for i, quantity in enumerate("qva"):
        values = rows[:, 1 + i * n : 1 + (i + 1) * n]
        lines.append(f"static const double {name}_{quantity}[{count}][{n}] = {{")
        lines += [f"  {{{_numbers(row)}}}," for row in values]
        lines.append("};")
    write_text(path, "\n".join([*lines, "#endif"]) + "\n")


def _numbers(values: Array) -> str:
    return ", ".join(map(repr, values.tolist()))


def write_binary(path: str | os.PathLike[str], joints: int, rows: Array) -> None:
    """Write "TRAJOPT1", the numbers of joints and points, and the rows as little-endian doubles."""
    with whole_file(path) as stream:
        stream.write(MAGIC + struct.pack("<II", joints, len(rows)) + rows.astype("<f8").tobytes())
