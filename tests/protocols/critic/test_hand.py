"""Sessions that a strong model's stand-in played by hand come out as what they were (hand/README.md)."""

import json
from pathlib import Path
from typing import Any

import msgspec

from tests.protocols.critic.play import Play

HAND = Path(__file__).parent / "hand"


class Hand(Play):
    """One recorded session, played again."""

    def __init__(self, name: str) -> None:
        case = json.loads((HAND / f"{name}.json").read_text(encoding="utf-8"))
        super().__init__(question=case["question"], rewritten=False)
        for turn in case["turns"]:
            self.reply(turn["seat"], self._body(turn))
            if self.phase == "rewriting":  # what it leaves out was offered back
                self.reply(turn["seat"], self._body(turn))

    def _body(self, turn: dict[str, Any]) -> object:
        kind = self.protocol.replies[self.ask(turn["seat"]).kind]
        return msgspec.convert({**turn["recorded"], **turn["added"]}, kind)
