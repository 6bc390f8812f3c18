"""`make chaos`: the kill tests for longer, over debates, MADP tasks, and sessions of consensus and critic whose clocks
are apart and whose disk fills up; then sessions of four protocols on three servers, which are killed, frozen, cut off
and emptied. Prints the counts of each as JSON; exit status 1 on any violation."""

import asyncio
import secrets
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from _pytest.outcomes import Skipped
from rich.console import Console
from rich.markup import escape

from tests.chaos.cluster.faults import every
from tests.chaos.cluster.rig import plays
from tests.chaos.cluster.run import ClusterReport, ClusterStorm
from tests.chaos.storm import Aim, Ground, Report, Storm, debates, work
from tests.chaos.storm import apart as far
from tests.support.small_disk import small_disk


def run(
    sessions: Annotated[int, typer.Option(min=0, help="Debates to play, at least; 0: none.")] = 300,
    tasks: Annotated[int, typer.Option(min=0, help="MADP tasks to play, at least; 0: none.")] = 120,
    apart: Annotated[int, typer.Option(min=0, help="Sessions with clocks apart and full disks, at least.")] = 120,
    cluster: Annotated[int, typer.Option(min=0, help="Sessions on three servers, at least; 0: none.")] = 200,
    cluster_seconds: Annotated[
        float, typer.Option(min=1, help="After these no more is begun on three servers.")
    ] = 1_200.0,
    cases: Annotated[str, typer.Option(help="Only cases on three servers with this word.")] = "",
    kills: Annotated[int, typer.Option(min=0, help="Processes to kill over each, at least.")] = 50,
    seconds: Annotated[float, typer.Option(min=1, help="Limit of each; a run that needs longer has failed.")] = 240.0,
    seed: Annotated[int | None, typer.Option(help="Of the faults; drawn and printed if absent.")] = None,
    keep: Annotated[
        str, typer.Option(help="Folder for the services' logs, and those of sessions of which something is wrong.")
    ] = "",
) -> None:
    """Kill and freeze every kind of process while sessions run, and check each of them."""
    seed = secrets.randbits(32) if seed is None else seed
    told = Console(stderr=True)
    passed = True
    for ground, wanted in ((debates, sessions), (work, tasks), (far, apart)):
        if not wanted:
            continue
        aim = Aim(sessions=wanted, kills=kills, seconds=seconds, seed=seed, keep=keep)
        told.print(f"chaos: {ground.__name__}, seed {seed}")
        passed = _told(_run(ground(), aim, told)) and passed
    if cluster:
        told.print("chaos: cluster")
        passed = _told(_run_cluster(cluster, cluster_seconds, cases, keep, told)) and passed
    sys.exit(0 if passed else 1)


def _told(report: Report) -> bool:
    """Print it; whether nothing was wrong."""
    print(msgspec.json.format(msgspec.json.encode(report)).decode(), flush=True)
    return not report.violations


def _run_cluster(sessions: int, seconds: float, word: str, keep: str, told: Console) -> ClusterReport:
    kinds = plays()
    chosen = [case for case in every() if word in str(case)]
    with tempfile.TemporaryDirectory(prefix="parley-chaos-") as folder:
        storm = ClusterStorm(
            Path(folder), chosen, sessions=sessions, seconds=seconds, kinds=kinds, keep=keep,
            tell=lambda t: told.print(escape(t)),
        )  # fmt: skip
        return asyncio.run(storm.run())


def _run(ground: Ground, aim: Aim, told: Console) -> Report:
    with ExitStack() as exits:
        folder = Path(exits.enter_context(tempfile.TemporaryDirectory(prefix="parley-chaos-")))
        disk = None
        if ground.disk_mb:
            try:
                disk = exits.enter_context(small_disk(folder / "small", ground.disk_mb))
            except Skipped as skipped:
                told.print(escape(str(skipped)))
        return asyncio.run(Storm(folder, ground, aim, lambda text: told.print(escape(text)), disk).run())


if __name__ == "__main__":
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(run)
    app()
