"""The command line's `feedback`: it parses, calls one function, prints."""

from enum import StrEnum
from typing import Annotated

import typer

from parley.cli import options
from parley.cli.options import Config, Creds, Json, Nats, Sid, State
from parley.client.show.printing import say


class ResultVerdict(StrEnum):
    """What a person says of a result."""

    RIGHT = "right"
    WRONG = "wrong"


def feedback(
    session: Sid,
    verdict: Annotated[ResultVerdict, typer.Argument(help="Whether the result is right or wrong.")],
    answer: Annotated[str, typer.Option(help="What the answer should have been; at most 4,000 characters.")] = "",
    note: Annotated[str, typer.Option(help="The reason; at most 4,000 characters.")] = "",
    json: Json = False,
    nats: Nats = None,
    creds: Creds = None,
    state: State = None,
    config: Config = None,
) -> None:
    """Say whether a closed session's result is right.

    The session keeps the feedback and shows it. If you give feedback several times, the last one counts.

    \b
    Examples:
      parley feedback 1f2e3d4c5b6a79880716 right
      parley feedback 1f2e3d4c5b6a79880716 wrong --answer "blue-green" --note "the canary has no traffic"
    """
    with options.errors(json):
        settings = options.settings(config, state=state, nats__url=nats, nats__creds=creds)
        from parley import sessions

        sessions.feedback(settings, session, right=verdict is ResultVerdict.RIGHT, answer=answer, note=note)
        if json:
            options.print_json({"session": session, "feedback": verdict.value, "answer": answer, "note": note})
        else:
            say(f"session {session}: its result is {verdict.value}, as you say")
            say("parley reliability learn takes it into the records, for sessions that open afterwards")
