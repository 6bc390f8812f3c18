"""`--style`: how a session's seats go about it, a seat each or all of them at once."""

from collections.abc import Sequence

from parley.client.setup.options import Option

ALL = "*"
"""In place of a seat: all that are not named."""


def read(texts: Sequence[str]) -> dict[str, str]:
    """What `--style pro_1=logical` and `--style mixed` give, by seat. Raises BadInput for a text without a seat or a
    name beside its `=`, and for a seat that is given two."""
    from parley.client.errors import BadInput

    by_seat: dict[str, str] = {}
    for text in texts:
        before, equals, name = (part.strip() for part in text.rpartition("="))
        seat = before if equals else ALL
        if not name or not seat:
            raise BadInput("style", f"got {text!r}, expected SEAT=NAME, for example pro_1=logical")
        if by_seat.setdefault(seat, name) != name:
            whose = "all seats are" if seat == ALL else f"seat {seat} is"
            raise BadInput("style", f"{whose} given two styles, {by_seat[seat]} and {name}")
    return by_seat


STYLE = Option(
    "--style",
    list[str] | None,
    "A seat's personality (competition) or strategy (consensus), or a style of all of them (consensus); repeatable.",
    sets="styles",
    metavar="SEAT=NAME|STYLE",
    read=read,
)
"""Of protocols whose seats have a way of their own."""
