"""How a session of the competition protocol is shown."""

from collections.abc import Mapping
from typing import Any

import msgspec

from parley.client.faces.face import Face
from parley.client.protocols.competition import files
from parley.client.protocols.competition.presenter import CompetitionPresenter
from parley.client.protocols.competition.setup import SETUP
from parley.client.protocols.competition.story import body_of
from parley.client.untrusted import object_of
from parley.schemas import log
from parley.schemas.post import WITHHELD, Post
from parley.schemas.protocols.competition.format import TEAMS


class CompetitionFace(Face):
    """The face of two teams and a judge."""

    def knows(self, post: Post) -> bool:
        """Whether its body is of one of a competition's types."""
        return body_of(post) is not None

    def seen_by_clients(self, opened: log.Opened) -> log.Opened:
        """Without the texts of documents that one team alone holds."""
        teams = {s.role for s in opened.seats if s.role in TEAMS}
        roles = {s.seat: s.role for s in opened.seats}
        documents = tuple(
            d if not d.holders or teams <= {roles.get(h) for h in d.holders} else msgspec.structs.replace(d, text="")
            for d in opened.documents
        )
        return msgspec.structs.replace(opened, documents=documents)

    def what_if(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """A format may be a built-in name or a file."""
        changed = dict(settings)
        if isinstance(changed.get("format"), str):
            changed["format"] = msgspec.to_builtins(files.read_format(changed["format"]))
        return changed

    def tells_why(self, say: log.Say) -> str:
        """A silence that gives its reason."""
        if say.kind != "silent":
            return ""
        body = object_of(say.body)
        return str(body.get("seat")) if body.get("why") != WITHHELD else ""


FACE = CompetitionFace(setup=SETUP, presenter=CompetitionPresenter)
