"""How a session of one protocol is shown: the base of every protocol's FACE. Its defaults show any protocol."""

from dataclasses import dataclass

from client.protocols.setup import Setup


@dataclass(frozen=True)
class Face:
    """What shows a session of one protocol: its posts, rounds, certificate, result, live state, page and plot.

    The defaults show any protocol's posts and result, and never raise.
    """

    setup: Setup

    @property
    def name(self) -> str:
        """The protocol's."""
        return self.setup.name
