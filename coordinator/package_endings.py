"""Whether an ending of a package's protocol may be called convergence.

Parley's own protocols prove that by their rules and tests. Of another one the machine sees what every session has: who
sits, who answered, and what the certificate says. So its certificate names the seats that signed (`signed`). Each of
them answered in the session, and they are more than half of the seats of their roles. What ends for want of budget or
time is a cap, and never convergence.
"""

from typing import Any

from parley.coordinator.budget import Ledger
from parley.coordinator.table import Inner, Unaffordable
from parley.schemas import log, registry

SIGNED = "signed"
"""In a certificate: the seats that signed what the session came to."""


def ours(protocol: str) -> bool:
    """Whether it is one of Parley's own."""
    return protocol in registry.shipped(registry.OF_PROTOCOLS)


def unsigned(
    protocol: str, opened: log.Opened, ledger: Ledger, event: Inner | None, certificate: dict[str, Any]
) -> str:
    """Why a stop is no convergence, in words; empty: it is, or the protocol is Parley's own. `event`: what the protocol
    was told when it stopped."""
    if ours(protocol):
        return ""
    if isinstance(event, Unaffordable):
        return f"a limit ended it: {event.what}"
    signed = certificate.get(SIGNED)
    if not isinstance(signed, list) or not signed:
        return f"its certificate names no seats that signed ({SIGNED})"
    roles = {s.seat: s.role for s in opened.seats}
    for seat in signed:
        if seat not in roles:
            return f"{SIGNED}: {seat!r} is no seat"
        if seat not in ledger.by_seat or not ledger.by_seat[seat].turns:
            return f"{SIGNED}: {seat} never answered"
    panel = [seat for seat, role in roles.items() if role in {roles[s] for s in signed}]
    if 2 * len(set(signed)) <= len(panel):
        return f"{len(set(signed))} of {len(panel)} seats signed, which is not more than half"
    return ""
