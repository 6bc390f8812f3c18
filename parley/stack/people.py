"""People who may take seats of a stack: the queues that are theirs, and how they sit down."""

from collections.abc import Iterable, Mapping

from parley.client.errors import BadInput
from parley.schemas.session import human_queue
from parley.settings import Settings
from parley.stack.lease import default_state

_NAME = 64
"""Characters of a queue's name."""


def people(seats: Iterable[str], roles: Mapping[str, str]) -> dict[str, str]:
    """Queue -> role of the people who may take these seats.

    Parameters
    ----------
    roles
        Seat -> role, of all seats that there are.

    Raises
    ------
    BadInput
        No such seat, or a name that is too long for a queue's.
    """
    users = {}
    for seat in seats:
        if seat not in roles:
            raise BadInput("human", f"there is no seat {seat}; seats are {', '.join(roles)}")
        if len(human_queue(seat)) > _NAME:
            most = _NAME - len(human_queue(""))
            raise BadInput("human", f"seat {seat}: {len(seat)} characters, a person's seat has at most {most}")
        users[human_queue(seat)] = roles[seat]
    return users


def how_to_sit(sid: str, seat: str, settings: Settings, *, state: str = "") -> str:
    """The command by which a person sits down."""
    if settings.nats.url:
        return f"parley sit {sid} {seat} --nats {settings.nats.url} --creds {human_queue(seat)}.json"
    return f"parley sit {sid} {seat} --state {state or settings.state or default_state()}"
