"""`python -m parley_research.defects`: reviews of diffs with planted defects
(research/parley_research/defects/README.md)."""

import argparse
import asyncio
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from parley.agents.models import ModelError
from parley_research.defects import asking, cases, scoring
from parley_research.defects.asking import PROMPTS, Prompted, Reviewed
from parley_research.defects.cases import Case
from parley_research.loaders import BadData

PLAYERS = ("A", "B")
Key = dict[str, dict[str, tuple[str, Prompted]]]
"""Player -> number of the sheet -> case and prompt."""


def main(arguments: Sequence[str] | None = None) -> int:
    """0; 1: some reviews are missing; 2: a file or an argument is not as it should be."""
    options = _parser().parse_args(arguments)
    try:
        status: int = options.run(options)
        return status
    except (BadData, ModelError, OSError) as error:
        print(error, file=sys.stderr)
        return 2


def _prompts(options: argparse.Namespace) -> int:
    options.out.mkdir(parents=True, exist_ok=True)
    for case in _chosen(options):
        for prompt in options.prompt or PROMPTS:
            body = asyncio.run(asking.request(case, prompt, options.model))
            file = options.out / f"{case.id}-{prompt}.json"
            file.write_bytes(msgspec.json.format(msgspec.json.encode(body), indent=1) + b"\n")
    return 0


def _bundle(options: argparse.Namespace) -> int:
    """Each player gets every case once: one the odd ones with the expert's prompt, the other the even ones."""
    chosen = cases.drawn(cases.read(), options.each, options.seed)
    dice = random.Random(options.seed)
    key: Key = {}
    for first, player in enumerate(PLAYERS):
        sheets = [(case, PROMPTS[(n + first) % 2]) for n, case in enumerate(chosen)]
        dice.shuffle(sheets)
        folder = options.out / player
        folder.mkdir(parents=True, exist_ok=True)
        key[player] = {f"{n:02}": (case.id, prompt) for n, (case, prompt) in enumerate(sheets, 1)}
        for n, (case, prompt) in enumerate(sheets, 1):
            body = asyncio.run(asking.request(case, prompt, "by-hand"))
            (folder / f"{n:02}.txt").write_text(asking.sheet(body), encoding="utf-8")
    (options.out / "key.json").write_bytes(msgspec.json.format(msgspec.json.encode(key), indent=1) + b"\n")
    return 0


def _take(options: argparse.Namespace) -> int:
    try:
        key = msgspec.json.decode(options.key.read_bytes(), type=Key)
    except msgspec.DecodeError as error:
        raise BadData(f"{options.key}: {error}") from None
    taken, lacking = [], []
    for player, sheets in key.items():
        for number, (case, prompt) in sheets.items():
            file = options.replies / player / f"{number}.json"
            try:
                review = asking.read_reply(file.read_text(encoding="utf-8"))
            except FileNotFoundError:
                lacking.append(f"{file}: there is none")
            except BadData as error:
                lacking.append(f"{file}: {error}")
            else:
                taken.append(Reviewed(case=case, prompt=prompt, model=f"player {player}", review=review))
    options.out.write_bytes(b"".join(msgspec.json.encode(review) + b"\n" for review in taken))
    return _told(lacking)


def _review(options: argparse.Namespace) -> int:
    return asyncio.run(_asked(options))


async def _asked(options: argparse.Namespace) -> int:
    failed = []
    asked = asking.reviews(
        _chosen(options), options.prompt or PROMPTS, options.model_url, options.model,
        at_once=options.at_once, seconds=options.seconds,
    )  # fmt: skip
    with options.out.open("ab") as out:
        async for review in asked:
            if isinstance(review, str):
                failed.append(review)
                continue
            out.write(msgspec.json.encode(review) + b"\n")
            out.flush()
    return _told(failed)


def _score(options: argparse.Namespace) -> int:
    scored = scoring.report(cases.read(), [review for file in options.files for review in _lines(file)])
    print(msgspec.json.encode(scored).decode() if options.json else scoring.text(scored))
    return 0


def _lines(file: Path) -> Iterator[Reviewed]:
    for n, line in enumerate(file.read_bytes().splitlines(), 1):
        try:
            yield msgspec.json.decode(line, type=Reviewed)
        except msgspec.DecodeError as error:
            raise BadData(f"{file}, line {n}: {error}") from None


def _told(failed: Sequence[str]) -> int:
    for line in failed:
        print(line, file=sys.stderr)
    return 1 if failed else 0


def _chosen(options: argparse.Namespace) -> tuple[Case, ...]:
    return cases.read([id for id in options.cases.split(",") if id])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m parley_research.defects", description="Reviews of planted defects."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    which = argparse.ArgumentParser(add_help=False)
    which.add_argument("--prompt", choices=PROMPTS, action="append", help="whose prompt; both if not given")
    which.add_argument("--cases", default="", metavar="01,02", help="ids of cases; all if not given")

    prompts = commands.add_parser("prompts", parents=[which], help="write the requests, one file a review")
    prompts.add_argument("--out", type=Path, required=True, metavar="DIR")
    prompts.add_argument("--model", default="by-hand", metavar="NAME", help="the model's name in the requests")
    prompts.set_defaults(run=_prompts)

    review = commands.add_parser("review", parents=[which], help="ask a model at an address")
    review.add_argument("--model-url", required=True, metavar="URL", help="of an OpenAI-compatible server")
    review.add_argument("--model", required=True, metavar="NAME")
    review.add_argument("--out", type=Path, required=True, metavar="FILE", help="reviews are added to it as they come")
    review.add_argument("--at-once", type=int, default=2, metavar="N", help="requests at once")
    review.add_argument("--seconds", type=float, default=600.0, metavar="S", help="for one review")
    review.set_defaults(run=_review)

    bundle = commands.add_parser("bundle", help="write sheets for two people who play the model")
    bundle.add_argument("--out", type=Path, required=True, metavar="DIR")
    bundle.add_argument("--each", type=int, default=2, metavar="N", help="cases of each field")
    bundle.add_argument("--seed", type=int, default=7)
    bundle.set_defaults(run=_bundle)

    take = commands.add_parser("take", help="make a file of reviews of what the players wrote")
    take.add_argument("--key", type=Path, required=True, metavar="FILE", help="key.json of the bundle")
    take.add_argument("--replies", type=Path, required=True, metavar="DIR", help="A/01.json and so on stand in it")
    take.add_argument("--out", type=Path, required=True, metavar="FILE")
    take.set_defaults(run=_take)

    score = commands.add_parser("score", help="print what was found, and the false alarms")
    score.add_argument("files", type=Path, nargs="+", metavar="FILE")
    score.add_argument("--json", action="store_true", help="as JSON")
    score.set_defaults(run=_score)
    return parser


if __name__ == "__main__":
    sys.exit(main())
