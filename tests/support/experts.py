"""Small experts for tests."""

from typing import Any

from parley.schemas.expert import Deliberation, Domain, ExpertSpec, Triggers


def expert(name: str, **given: Any) -> ExpertSpec:
    """An expert that owns what its name says."""
    about = name.replace("-", " ")
    return ExpertSpec(
        **{
            "id": name,
            "name": about.title(),
            "triggers": Triggers(primary=(about,)),
            "domain": Domain(owns=(about,)),
            "deliberation": Deliberation(claim=f"I know about {about}."),
            **given,
        }
    )
