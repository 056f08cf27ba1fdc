"""Setups of OpenSim's tools: which reaction acts on which foot, and inverse dynamics of the files."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent

from problems.human.opensim.osim_model import VERSION
from problems.human.opensim.storage import DIGITS

MODEL, MOTION, REACTIONS = "body.osim", "coordinates.mot", "ground_reactions.mot"
EXTERNAL_LOADS, INVERSE_DYNAMICS = "external_loads.xml", "inverse_dynamics.xml"
FEET = {"r": "hindfoot_r", "l": "hindfoot_l"}


def external_loads() -> ElementTree:
    """The force, centre of pressure and free moment of each foot, columns of ground_reactions.mot."""
    document = Element("OpenSimDocument", Version=VERSION)
    loads = SubElement(document, "ExternalLoads", name="ground_reactions")
    forces = SubElement(loads, "objects")
    for side, foot in FEET.items():
        force = SubElement(forces, "ExternalForce", name=f"ground_on_{foot}")
        for tag, text in {
            "applied_to_body": foot,
            "force_expressed_in_body": "ground",
            "point_expressed_in_body": "ground",
            "force_identifier": f"ground_force_{side}_v",
            "point_identifier": f"ground_force_{side}_p",
            "torque_identifier": f"ground_torque_{side}_",
        }.items():
            SubElement(force, tag).text = text
    SubElement(loads, "datafile").text = REACTIONS
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
