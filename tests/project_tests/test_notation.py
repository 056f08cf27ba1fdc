"""The notation table names only what exists."""

import re
from pathlib import Path

import pytest

import dynamics

ROOT = Path(__file__).parents[2]
TABLE = (ROOT / "docs" / "notation.md").read_text(encoding="utf-8")


def test_every_file_named_in_the_table_exists():
    files = set(re.findall(r"`((?:dynamics|trajopt)/[\w/]+\.py)`", TABLE))
    assert len(files) > 10
    assert [name for name in sorted(files) if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("kind", ["Joint", "Body", "RigidBodyModel", "Frame", "Rotor"])
def test_every_attribute_of_the_robot_named_in_the_table_exists(kind):
    fields = set(re.findall(rf"`{kind}\.(\w+)`", TABLE))
    assert fields
    known = {*dir(getattr(dynamics, kind)), *getattr(dynamics, kind).__dataclass_fields__}
    assert fields <= known
