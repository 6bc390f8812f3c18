"""Commands by which a person takes part: a seat of a session, and the questions of tasks."""

from typing import TYPE_CHECKING, Annotated

import typer

from parley.cli import options
from parley.cli.options import Answer, Sid, command

if TYPE_CHECKING:
    from parley.settings import Settings

app = options.group(
    "List and answer questions of tasks that wait for a human.", no_args_is_help=False, invoke_without_command=True
)


def sit(
    settings: "Settings",
    session: Sid,
    seat: Annotated[str, typer.Argument(metavar="SEAT", help="The seat, such as pro_2 or panelist_1.")],
    seconds: Annotated[float, typer.Option(help="Seconds for each of your turns, 1 to 86,400.")] = 300.0,
    then: Annotated[
        str,
        typer.Option(
            metavar="agent|miss|wait",
            help="When that time is over, the agent takes the seat, the turn is missed, or everybody waits.",
        ),
    ] = "agent",
) -> int:
    """Take a seat of a running session.

    Its turns come to this terminal, and each has a time limit. Ctrl-C gives the seat back to its agent.
    Exit status: 0 the session is over or you left, 3 your time was over and the agent took the seat back.

    \b
    Examples:
      parley sit 1f2e3d4c5b6a79880716 pro_2
      parley sit 1f2e3d4c5b6a79880716 pro_2 --seconds 600 --then wait
      parley sit 1f2e3d4c5b6a79880716 pro_2 --nats nats://bus:4222 --creds pro_2_human.json
    """
    from parley import human_seat

    return human_seat.sit(settings, session, seat, seconds=seconds, then=then)


@command(app, "")
def inbox(
    settings: "Settings",
    session: Annotated[
        str | None,
        typer.Option("--session", metavar="ID", help="Only questions of this session (default: of all; owners only)."),
    ] = None,
) -> Answer:
    """Questions of tasks that wait for a human, the most urgent first.

    \b
    Examples:
      parley inbox
      parley inbox --session 1f2e3d4c5b6a79880716 --json
    """
    from parley import inbox as items
    from parley.planned.access import bus_options

    waiting = items.of(settings, session or "")
    return Answer({"items": waiting}, items.inbox_lines(waiting, bus_options(settings)))


@command(app, "answer")
def inbox_answer(
    settings: "Settings",
    session: Sid,
    item: Annotated[
        str, typer.Argument(metavar="ITEM", help="The number of the question, or the word expert to change who leads.")
    ],
    choice: Annotated[str, typer.Argument(metavar="CHOICE", help="One of its choices, free text, or an expert's id.")],
    note: Annotated[str, typer.Option(help="A comment on the choice.")] = "",
) -> Answer:
    """Answer a question of a task, or change who leads it.

    \b
    Examples:
      parley inbox answer 1f2e3d4c5b6a79880716 1 revise --note "name the limit"
      parley inbox answer 1f2e3d4c5b6a79880716 expert database-engineer
    """
    from parley import inbox as items
    from parley.client.text import line

    items.decide(settings, session, item, choice, note)
    document = {"session": session, "item": item, "choice": choice, "taken": True}
    return Answer(document, f"session {line(session)}: {line(item)} is answered with {line(choice)}")
