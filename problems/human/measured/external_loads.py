"""Measured forces on bodies, from the setup of OpenSim's external loads (.xml) and its table (.mot, .sto).

Each `ExternalForce` names a body and the columns of a force F, of the point p where it acts and of a free
moment M, all in axes of the ground or of another body. The wrench on the body is [p x F + M; F].
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from dynamics import CoupledModel, RigidBodyModel
from problems.human.motions.motion_file import check_increase
from problems.human.opensim.storage import Storage, read_storage
from trajopt.base.arguments import list_names
from trajopt.base.errors import ProblemError, UnknownNameError, near_matches

AXES = ("x", "y", "z")
GROUND = "ground"


@dataclass(frozen=True, eq=False)
class MeasuredForce:
    """A force on a body over time.

    body : on which it acts; force_axes, point_axes : bodies whose axes they are in, "ground" for the world's
    time : (K,) s; force : (K, 3) N; point : (K, 3) m; moment : (K, 3) N m, beside that of the force
    """

    name: str
    body: str
    force_axes: str
    point_axes: str
    time: np.ndarray
    force: np.ndarray
    point: np.ndarray
    moment: np.ndarray

    def at(self, time: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Force, point and moment at other times, (k, 3) each, by straight lines between the samples."""
        if time[0] < self.time[0] or time[-1] > self.time[-1]:
            raise ProblemError(
                f"'{self.name}' is measured from {self.time[0]:g} to {self.time[-1]:g} s, and asked for from "
                f"{time[0]:g} to {time[-1]:g} s: give a window within it"
            )
        force, point, moment = (
            np.stack([np.interp(time, self.time, column) for column in values.T], axis=1)
            for values in (self.force, self.point, self.moment)
        )
        return force, point, moment


def read_external_loads(
    setup: str | os.PathLike[str], table: str | os.PathLike[str] | None = None
) -> tuple[MeasuredForce, ...]:
    """Forces of a setup of external loads (.xml), with the table that it names or another one.

    A table that is not where the setup says is looked for beside the setup. Raises ProblemError for a file
    that is no such setup or has no force, and for a table that is missing, or whose times do not increase;
    UnknownNameError for columns that the table does not have.
    """
    file = Path(setup)
    try:
        root = ElementTree.parse(file).getroot()
    except (OSError, ElementTree.ParseError) as error:
        raise ProblemError(
            f"'{file}' is no setup of external loads (.xml): {error}. Give OpenSim's file that names the "
            "table of forces and the body that each of them acts on"
        ) from None
    entries = [each for each in root.iter("ExternalForce") if _text(each, "isDisabled", "false") != "true"]
    entries = [entry for entry in entries if _text(entry, "appliesForce", "true") != "false"]
    if not entries:
        raise ProblemError(f"'{file}' has no ExternalForce: give the setup of external loads (.xml)")
    forces = Path(table) if table is not None else _table_of(file, root)
    data = read_storage(forces)
    check_increase(data.time, forces)
    return tuple(_measured(entry, data, file) for entry in entries)


def _table_of(file: Path, root: ElementTree.Element) -> Path:
    loads = root if root.tag == "ExternalLoads" else root.find(".//ExternalLoads")
    written = "" if loads is None else _text(loads, "datafile")
    if not written:
        raise ProblemError(f"'{file}' names no datafile: give the table of forces (.mot or .sto)")
    places = (file.parent / written, file.parent / Path(written.replace("\\", "/")).name)
    for place in places:
        if place.is_file():
            return place
    raise ProblemError(
        f"'{file}' names the table '{written}', which is not there: put it beside that file, or give another "
        "table of forces (.mot or .sto), table=... or --table at the command line"
    )


def _text(element: ElementTree.Element, tag: str, default: str = "") -> str:
    return (element.findtext(tag) or default).strip()


def _measured(entry: ElementTree.Element, data: Storage, file: Path) -> MeasuredForce:
    name, body = entry.get("name", "a force"), _text(entry, "applied_to_body")
    if not body or body == GROUND:
        raise ProblemError(f"'{file}': '{name}' acts on {body or 'no body'}: name one in applied_to_body")
    given = {which: _text(entry, f"{which}_identifier") for which in ("force", "point", "torque")}
    if not given["force"] and not given["torque"]:
        raise ProblemError(f"'{file}': '{name}' has no columns: give a force_identifier")
    force, point, moment = (_columns(data, given[which], name, file) for which in given)
    axes = [_text(entry, f"{which}_expressed_in_body", GROUND) for which in ("force", "point")]
    return MeasuredForce(name, body, axes[0], axes[1], data.time, force, point, moment)


def _columns(data: Storage, identifier: str, name: str, file: Path) -> np.ndarray:
    """(K, 3) the columns of an identifier with x, y and z behind it; zero for none."""
    if not identifier:
        return np.zeros((data.time.size, 3))
    labels = [identifier + axis for axis in AXES]
    for label in labels:
        if label not in data.columns:
            raise UnknownNameError(
                f"'{file}': '{name}' has the columns '{label}', which the table does not have"
                f"{near_matches(label, list(data.columns))}: there are {list_names(list(data.columns))}"
            )
    return np.stack([data.columns[label] for label in labels], axis=1)


def wrenches_on_links(
    robot: RigidBodyModel | CoupledModel, q: np.ndarray, time: np.ndarray, forces: tuple[MeasuredForce, ...]
) -> np.ndarray:
    """(k, links, 6) wrenches [moment; force] about the world's origin, that forces exert at poses q (k, n).

    Raises UnknownNameError for a body that the robot does not have.
    """
    links = {link: i for i, link in enumerate(robot.link_names)}
    carriers = {frame.name: frame.body for frame in robot.frames if frame.body} | {
        link: link for link in links
    }
    external = np.zeros((len(time), len(links), 6))
    for each in forces:
        force, point, moment = each.at(time)
        for axes in {each.body, each.force_axes, each.point_axes} - {GROUND}:
            if axes not in carriers:
                raise UnknownNameError(
                    f"'{each.name}' names the body '{axes}', which the model does not have"
                    f"{near_matches(axes, list(carriers))}: there are {list_names(list(links))}"
                )
        if each.force_axes != GROUND:
            rotation = robot.forward_kinematics(q, [each.force_axes]).rotation[:, 0]
            force, moment = (np.einsum("kij,kj->ki", rotation, x) for x in (force, moment))
        if each.point_axes != GROUND:
            pose = robot.forward_kinematics(q, [each.point_axes])
            point = pose.position[:, 0] + np.einsum("kij,kj->ki", pose.rotation[:, 0], point)
        link = links[carriers[each.body]]
        external[:, link] += np.concatenate([np.cross(point, force) + moment, force], axis=1)
    return external
