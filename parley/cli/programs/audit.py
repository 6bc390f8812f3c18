"""`parley audit`: parses, calls one function, prints."""

from typing import Annotated, get_args

import typer

from parley.cli import options
from parley.cli.options import Config, Creds, Json, Nats, State
from parley.client.show.printing import say_all


def audit(
    who: Annotated[str, typer.Option(help="Only what this user did.")] = "",
    act: Annotated[str, typer.Option(help="Only acts of this kind: asked, decided, overrode, erased and others.")] = "",
    session: Annotated[str, typer.Option(help="Only in this session.")] = "",
    days: Annotated[float, typer.Option(help="Only of the last days; 0 for all.", min=0)] = 0,
    limit: Annotated[int, typer.Option(help="Sessions to look at, newest first.", min=1, max=100_000)] = 1_000,
    json: Json = False,
    nats: Nats = None,
    creds: Creds = None,
    state: State = None,
    config: Config = None,
) -> None:
    """List who asked, decided, overrode, cancelled and erased, as the log has it. Needs an owner's credentials.

    Times are UTC.

    \b
    Examples:
      parley audit --act erased
      parley audit --who alice --days 7 --json
    """
    with options.errors(json):
        settings = options.settings(config, state=state, nats__url=nats, nats__creds=creds)
        from parley import audit as auditing
        from parley.client.errors import BadInput

        if act and act not in get_args(auditing.Act):
            raise BadInput("act", f"got {act!r}, expected one of {', '.join(get_args(auditing.Act))}")
        rows = auditing.audit(settings, sessions=limit, days=days, who=who, act=act, sid=session)
        if json:
            options.print_json({"acts": rows})
        else:
            say_all(auditing.words(rows))
