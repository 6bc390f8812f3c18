"""How a session of one protocol is set up, before it is opened: the base of every protocol's SETUP."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Setup:
    """Whom a protocol seats, which of its settings stand in files, and its options on the command line.

    The defaults serve any protocol: one queue for each role that it needs.
    """

    name: str
    """The protocol's."""
    opening_only: tuple[str, ...] = ()
    """Settings that act before the first recorded event, or on what is shown alone: no replay can tell."""
