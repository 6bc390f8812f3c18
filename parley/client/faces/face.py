"""How a session of one protocol is shown: the base of every protocol's FACE. Its defaults show any protocol.

General code looks a face up once, by the session's protocol (parley.client.protocols.face_of), and shows the session
through the presenter that it makes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec

from parley.client.faces.setup import Setup
from parley.client.show.presenter import Presenter
from parley.schemas import log
from parley.schemas.post import Post
from parley.schemas.result import Result
from parley.schemas.session import EVERYBODY


@dataclass(frozen=True)
class Face:
    """What is known about showing sessions of one protocol before one is there. A presenter shows the session."""

    setup: Setup
    presenter: type[Presenter] = Presenter
    traces: ClassVar[bool] = False
    """Whether `trace` makes a trace."""

    @property
    def name(self) -> str:
        """The protocol's."""
        return self.setup.name

    def present(self, settings: Mapping[str, Any] | None = None) -> Presenter:
        """What shows one session. `settings`: those with which it was opened; None: not known."""
        return self.presenter(settings)

    def knows(self, post: Post) -> bool:
        """Whether a post is one of this protocol's: for sessions of which whoever asks may not read the opening."""
        return False

    def seen_by_clients(self, opened: log.Opened) -> log.Opened:
        """The opening of a session of which clients may not read every channel: without the texts that some seats
        alone hold."""
        documents = tuple(
            d if not d.holders or EVERYBODY in d.holders else msgspec.structs.replace(d, text="")
            for d in opened.documents
        )
        return msgspec.structs.replace(opened, documents=documents)

    def what_if(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Settings that somebody typed as a recorded session has them. Raises BadInput."""
        return dict(settings)

    def tells_why(self, say: log.Say) -> str:
        """The seat of whose turn a post says that it came to nothing, and why; empty: of none."""
        return ""

    def alone(self, result: Result) -> dict[str, tuple[str, ...]]:
        """Seat -> names of the answer that it gave before it heard another; a seat that gave none is left out. Empty
        for a protocol in which nobody answers alone."""
        return {}

    def answered(self, result: Result) -> tuple[str, ...]:
        """Names of the result's answer, as `alone` names answers."""
        answer = result.outcome.get("answer")
        return (answer,) if isinstance(answer, str) and answer else ()

    def trace(self, session: str, entries: Iterable[log.Entry]) -> Any:
        """The session's trace, from its whole log; asked where `traces` says that there is one."""
        raise NotImplementedError
