"""The command that lists who did what in the sessions of a bus."""

from typing import TYPE_CHECKING, Annotated, get_args

import typer

from parley.cli.options import Answer

if TYPE_CHECKING:
    from parley.settings import Settings


def audit(
    settings: "Settings",
    who: Annotated[str, typer.Option(help="Only what this user did.")] = "",
    act: Annotated[str, typer.Option(help="Only acts of this kind: asked, decided, overrode, erased and others.")] = "",
    session: Annotated[str, typer.Option(help="Only in this session.")] = "",
    days: Annotated[float, typer.Option(help="Only of the last days; 0 for all.", min=0)] = 0,
    limit: Annotated[int, typer.Option(help="Sessions to look at, newest first.", min=1, max=100_000)] = 1_000,
) -> Answer:
    """List who asked, decided, overrode, cancelled and erased, as the log has it. Needs an owner's credentials.

    Times are UTC.

    \b
    Examples:
      parley audit --act erased
      parley audit --who alice --days 7 --json
    """
    from parley import audit as auditing
    from parley.client.errors import BadInput

    if act and act not in get_args(auditing.Act):
        raise BadInput("act", f"got {act!r}, expected one of {', '.join(get_args(auditing.Act))}")
    rows = auditing.audit(settings, sessions=limit, days=days, who=who, act=act, sid=session)
    return Answer({"acts": rows}, auditing.audit_lines(rows))
