"""A human body and its gait: skeleton, ground reactions, and the constraints on a step."""

from types import MappingProxyType

from trajopt.former_paths import install_former_paths

FORMER = MappingProxyType(
    {
        f"problems.human.{name}": (f"problems.human.{home}",)
        for name, home in {
            "credibility": "assessment.criteria",
            "cycle": "gait.cycle",
            "exports": "assessment.exports",
            "identities": "assessment.identities",
            "slip": "assessment.slip",
            "whole_body": "assessment.whole_body",
        }.items()
    }
)
install_former_paths(FORMER)
