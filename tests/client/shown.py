"""What is shown of a session that was played by hand, as any screen shows it."""

from collections.abc import Iterable

from parley.client.rendering.terminal import answer_lines, bare, card_lines, part_lines, show
from parley.client.show.answer import ResultCard
from parley.client.show.card import CardPart
from parley.client.view.fold import Fold, of_result
from parley.schemas.post import Post
from parley.schemas.result import Result
from parley.schemas.wire import encode
from tests.support.play import BasePlay


def fold(play: BasePlay, *, everything: bool = True) -> Fold:
    """The fold of its log."""
    folded = Fold("s1", everything=everything)
    for entry in play.entries:
        folded.entry(encode(entry).decode())
    return folded


def card(play: BasePlay) -> ResultCard:
    """The card of its result."""
    made = fold(play).answer()
    assert made is not None
    return made


def part(of: ResultCard, name: str) -> CardPart:
    """A part behind an answer."""
    return next(p for p in of.parts if p.name == name)


def screen(play: BasePlay) -> str:
    """Everything that a terminal shows of it."""
    return "\n".join(show(fold(play)))


def ended(result: Result) -> str:
    """The card of a result whose posts nobody read, and all that stands behind it."""
    made = of_result(result)
    return "\n".join(bare([*answer_lines(made), *(told for p in made.parts for told in part_lines(p))]))


def posts(of: Iterable[Post], *, brief: bool = False, protocol: str = "") -> list[str]:
    """Posts one after another, each in lines."""
    folded, said = Fold("s1", everything=True), list(of)
    if protocol:
        folded.runs(protocol, {})
    folded.recognised(said)
    cards = [made for post in said if (made := folded.post(post)) is not None]
    return list(bare(told for made in cards for told in card_lines(made, brief=brief)))
