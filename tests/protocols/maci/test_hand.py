"""A session that a strong model's stand-in played by hand ends where its debaters agree (hand/README.md)."""

import json
from pathlib import Path
from typing import Any

import msgspec

from parley.schemas.belief import Belief
from parley.schemas.protocols.maci.messages import Blind, Case, Crit, CritBrief, Found, Met, Retrieved
from parley.schemas.wire import decode
from tests.protocols.maci.play import Play, document, similar

HAND = Path(__file__).parent / "hand"
SEED = 1
"""By which the debater is drawn that is marked as devil's advocate."""
DOUBT = "The variety's resistance"
"""How the one of its arguments begins that speaks against what both hold."""


class Hand(Play):
    """One recorded session, played again."""

    def __init__(self, name: str) -> None:
        found = json.loads((HAND / f"{name}.json").read_text(encoding="utf-8"))
        passages = msgspec.convert(found["passages"], tuple[Found, ...])
        texts: dict[str, list[str]] = {}
        for p in passages:
            texts.setdefault(p.document, []).append(p.text)
        super().__init__(
            {"outcomes": found["outcomes"], "judges": 3},
            documents=[document(name, "\n\n".join(parts)) for name, parts in texts.items()],
            judges=("two", "two", "two"), seed=SEED, q0=None,
        )  # fmt: skip
        self.reply("helper", Retrieved(passages=passages, similar=similar([0.9] * len(passages))))
        self.recorded: list[dict[str, Any]] = found["turns"]
        self.calls = 0

    def play(self) -> None:
        """The recording, as far as its seats are asked; what is measured is the helper's, and no call of a model."""
        for turn in self.recorded:
            if ("helper", "measure") in self.asked():
                self.measure(lambda span: 0.9)
            if turn["seat"] in [seat for seat, _ in self.asked()]:
                self.one(turn)
                self.calls += 1
        self.answer()

    def answer(self) -> None:
        """The round after the attack, which is not of the recording: the other holds what it held, and says why."""
        ((seat, _),) = self.asked()
        brief = self.brief(seat)
        why = "The second race breaks that resistance, and the laboratory found its signs."
        met = tuple(Met(argument=name, why=why, fails=True) for name in brief["answers"])
        self.reply(seat, Case(belief=msgspec.convert(brief["belief"], Belief), answers=met))
        self.calls += 1

    def one(self, turn: dict[str, Any]) -> None:
        """One reply of the recording."""
        seat, recorded, added = turn["seat"], turn["recorded"], turn["added"]
        if "claims" in added:
            items = {item.claim: item.item for item in decode(self.ask(seat).brief, CritBrief).items}
            scores = {added["claims"][str(s.item)]: s for s in msgspec.convert(recorded, Crit).scores}
            now = [
                msgspec.structs.replace(scores[claim], item=item, against=claim.startswith(DOUBT))
                for claim, item in items.items()
            ]
            self.reply(seat, Crit(scores=tuple(now)))
        elif "advocate" in added:
            assert added["advocate"], "nobody else is asked"
            self.reply(seat, msgspec.structs.replace(msgspec.convert(recorded, Case), speaks_for="Verticillium wilt"))
        else:
            self.reply(seat, msgspec.convert(recorded, Blind))


def test_a_unanimous_debate_ends_once_its_one_attack_is_answered_in_seven_calls() -> None:
    hand = Hand("maci_agreed")
    hand.play()
    assert (hand.result.stop.reason, hand.result.stop.converged) == ("agreement", True)
    assert hand.calls == 7 and hand.phase == "done" and hand.asks("plan") == []
    assert not any(ask.attempt > 1 for kind in ("blind", "attack", "answer", "crit") for ask in hand.asks(kind))
    assert hand.result.outcome["answer"] == "Fusarium wilt" and hand.result.outcome["confidence"] > 0.9
    (advocate,) = hand.certificate["advocates"]
    assert advocate == {"round": 1, "seat": "debater_1", "arguments": 3, "admitted": 3, "tests": 1}
