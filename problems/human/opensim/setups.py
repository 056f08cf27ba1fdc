"""Setups of OpenSim's tools: which load acts on which link, and inverse dynamics of the files."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent

from problems.human.opensim.osim_model import VERSION
from problems.human.opensim.storage import DIGITS

MODEL, MOTION, REACTIONS = "body.osim", "coordinates.mot", "ground_reactions.mot"
LOADS = "loads.mot"
EXTERNAL_LOADS, INVERSE_DYNAMICS = "external_loads.xml", "inverse_dynamics.xml"


def external_loads(links: Iterable[str]) -> ElementTree:
    """The force and moment on each of these links, columns of loads.mot."""
    document = Element("OpenSimDocument", Version=VERSION)
    loads = SubElement(document, "ExternalLoads", name="loads")
    forces = SubElement(loads, "objects")
    for link in links:
        force = SubElement(forces, "ExternalForce", name=f"load_on_{link}")
        for tag, text in {
            "applied_to_body": link,
            "force_expressed_in_body": "ground",
            "point_expressed_in_body": "ground",
            "force_identifier": f"{link}_v",
            "point_identifier": f"{link}_p",
            "torque_identifier": f"{link}_torque_",
        }.items():
            SubElement(force, tag).text = text
    SubElement(loads, "datafile").text = LOADS
    indent(document, "  ")
    return ElementTree(document)


def inverse_dynamics(duration: float) -> ElementTree:
    """The tool that finds the torques of the exported motion again, unfiltered, over `duration` s."""
    document = Element("OpenSimDocument", Version=VERSION)
    tool = SubElement(document, "InverseDynamicsTool", name="inverse_dynamics")
    for tag, text in {
        "results_directory": ".",
        "model_file": MODEL,
        "time_range": f"0 {duration:{DIGITS}}",  # as in the files: a row after the end would be left out
        "forces_to_exclude": "",
        "external_loads_file": EXTERNAL_LOADS,
        "coordinates_file": MOTION,
        "lowpass_cutoff_frequency_for_coordinates": "-1",
        "output_gen_force_file": "inverse_dynamics.sto",
    }.items():
        SubElement(tool, tag).text = text
    indent(document, "  ")
    return ElementTree(document)


def how_to_open(folder: str | PathLike[str]) -> str:
    """Two lines about where OpenSim opens the files of an export."""
    place = Path(folder)
    return (
        f"to see it in OpenSim: File > Open Model... {place / MODEL}\n"
        f"then                  File > Load Motion... {place / MOTION}"
    )
