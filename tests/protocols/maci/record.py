"""A played MACI session's record, in which agents and documents may say anything: ordinary words, or hostile ones."""

import json

import msgspec

from parley.client.records import Record
from parley.schemas import log
from parley.schemas.protocols.maci.messages import Ruled
from parley.schemas.wire import decode
from tests.protocols.maci.play import GATED, TEXTS, Play, argument, belief, case, check_up

SID = "maci1"


class Words(msgspec.Struct, frozen=True, kw_only=True):
    """What agents and documents say: ordinary, or hostile."""

    question: str = "Which virus is behind the fever in the ward?"
    outcomes: tuple[str, ...] = ("dengue", "chikungunya", "zika")
    claim: str = "The low platelet count speaks for dengue."
    reason: str = "Platelets fall below 100,000 in most cases of dengue, and seldom in the other two."
    quote: str = "platelets 62,000 on day four"
    document: str = "ward/chart.md"
    justification: str = "The quotation carries the claim."
    reasoning: str = "The chart names platelets and no joint pain."
    what: str = "Is the NS1 antigen there?"
    query: str = "NS1 antigen result day 3 to 5"
    seat: str = "debater_2"


ORDINARY = Words()


def played(outcomes: int, rounds: int, ended: bool) -> Play:
    """Two debaters who stay apart. In each round an argument of the first is admitted, and judges and gates refuse one
    of the second."""
    names = tuple(f"outcome {n:02}" for n in range(outcomes))
    rest = 0.1 / (outcomes - 1)
    one = belief(0.9, *[rest] * (outcomes - 1), names=names)
    other = belief(*[rest] * (outcomes - 1), 0.9, names=names)
    play = Play({**GATED, "outcomes": names, "round_limit": max(rounds, 1), "tau_stop": 9, "gamma": 0.0})
    play.blind(one, other)
    for n in range(rounds):
        play.round(
            case(one, argument(f"claim {n}")), case(other, argument(f"claim of another {n}", 2, q=0.2)),
            score=lambda claim: 0.1 if "another" in claim else 0.8,
        )  # fmt: skip
    if not rounds:
        play.event(log.Cancelled(author="client", reason="enough"))
    elif ended:
        apart = [share["outcome"] for share in play.brief("analyst")["mixture"]]
        play.plan(check_up("a PCR", 0.9, *[0.2] * (len(apart) - 1), names=apart))
        assert play.phase == "done"
    return play


def ruled() -> Ruled:
    """An argument that the gates refused, with its scores."""
    return decode(played(2, 1, False).posts("refused")[-1].body, Ruled)


def record(words: Words = ORDINARY, rounds: int = 3, ended: bool = True) -> Record:
    """A session of so many rounds after the blind one, cancelled where there is none; `ended` false: it goes on. Its
    words are put in place of those that were played."""
    play = played(len(words.outcomes), rounds, ended)
    said = {
        "Dengue or chikungunya?": words.question, "notes.md": words.document, TEXTS[0]: words.quote,
        "because": words.reason, "so": words.justification, "the platelets fell": words.reasoning, "a PCR": words.what,
        "pcr": words.query, "debater_2": words.seat, "debater_2 thinks so": words.reasoning,
        **{f"outcome {n:02}": name for n, name in enumerate(words.outcomes)},
        **{f"claim {n}": words.claim for n in range(rounds)},
    }  # fmt: skip
    entries = []
    for entry in play.log:
        text = entry.decode()
        for old, new in said.items():
            text = text.replace(json.dumps(old), json.dumps(new))
        entries.append(text)
    return Record(sid=SID, entries=tuple(entries))
