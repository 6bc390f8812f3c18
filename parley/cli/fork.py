"""The command line's `fork`: it parses, calls one function, prints."""

from typing import Annotated

import typer

from parley.cli import options
from parley.cli.options import Config, Creds, Json, Nats, PanelFile, Plain, Sets, Sid, State, Verbose


def fork(
    session: Sid,
    round_: Annotated[
        int | None,
        typer.Option("--round", min=0, help="Carry the record up to the end of this round (default: the last)."),
    ] = None,
    sets: Sets = None,
    panel_file: PanelFile = None,
    budget_tokens: Annotated[int | None, typer.Option(help="Tokens that the fork itself may use.")] = None,
    budget_calls: Annotated[int | None, typer.Option(help="Limit of model calls.")] = None,
    budget_usd: Annotated[float | None, typer.Option(help="Limit of cost, in US dollars.")] = None,
    budget_seconds: Annotated[float | None, typer.Option(help="Time limit of the fork, in seconds.")] = None,
    json: Json = False,
    plain: Plain = False,
    verbose: Verbose = False,
    nats: Nats = None,
    creds: Creds = None,
    state: State = None,
    config: Config = None,
) -> None:
    """Continue a closed session with other settings or models.

    The fork keeps the recorded answers up to the point where the two sessions differ. After that it calls models. The
    environment or a panel file names the models, as for `parley ask`.

    The exit status is that of `parley ask`.

    \b
    Examples:
      parley fork 1f2e3d4c5b6a79880716 --set consensus.threshold=90
      parley fork 1f2e3d4c5b6a79880716 --round 1 --panel-file other-models.yaml
      LLM_PROVIDER=ollama LLM_MODEL=qwen3:8b parley fork 1f2e3d4c5b6a79880716 --round 2
    """
    with options.errors(json):
        layers = {
            "state": state,
            "nats__url": nats,
            "nats__creds": creds,
            "panel_file": panel_file,
            "budget__tokens": budget_tokens,
            "budget__calls": budget_calls,
            "budget__cost_usd": budget_usd,
            "budget__seconds": budget_seconds,
        }
        from parley import forking
        from parley.ask_session import run_session
        from parley.planned.plan import plan_of
        from parley.run import Run
        from parley.settings import parse_sets

        source = forking.source_of(options.settings(config, state=state, nats__url=nats, nats__creds=creds), session)
        plan = plan_of(options.settings(config, sets, protocol=source.protocol, **layers))
        run = Run(plan=plan, json=json, plain=plain, verbose=verbose)
        code, result = run_session(*forking.asked(run, source, parse_sets(sets or []), round_))
        if json and result is not None:
            options.print_json(result)
    raise typer.Exit(code)
