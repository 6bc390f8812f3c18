"""Ends a session of any protocol with rounds after its second one."""

from parley.coordinator.table import StopRule, View
from parley_jury.rows import PATIENCE


def _holds(v: View) -> str:
    played = max((post.round for post in v.posts), default=0)
    return f"{played} rounds were played" if played >= 2 else ""


RULE = StopRule(name="patience", reason=PATIENCE, holds=_holds)
