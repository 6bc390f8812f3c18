"""Recorded sessions of every protocol as a page shows them: cards, signals, results; and what clients may not see."""

from pathlib import Path

import msgspec
import pytest

from parley.bus.channels import CLIENTS, may_read
from parley.client.records import posts_of, read_record
from parley.client.view.fold import Fold, folded
from parley.web.page.shadow import candidates
from parley.web.page.shapes import Session
from parley.web.page.snapshot import session

LOGS = {f"{p.parent.name}-{p.stem}": p for p in sorted(Path("tests/old_logs").glob("*/*.jsonl")) if p.stem != "breaker"}
"""Of every protocol that a client may start."""
each = pytest.mark.parametrize("path", LOGS.values(), ids=LOGS.keys())
GROUPS = {
    "consensus": {"Signals"}, "critic": {"Signals"}, "madp": set(), "single": set(),
    "competition": {"Points after each speech", "Lead", "Score of each speech"},
    "maci": {"Signals", "Dials in force", "Mixture", "Arguments at the gates"},
}  # fmt: skip


def _shown(path: Path, *, everything: bool = False) -> tuple[Fold, Session]:
    record = read_record(path)
    fold = folded(record.sid, record.entries, everything=everything)
    return fold, session(fold, owner=True, can=("export", "what-if"))


@each
def test_every_post_has_a_card_and_the_result_its_parts(path: Path) -> None:
    record = read_record(path)
    _, shown = _shown(path, everything=True)
    cards = [card for r in shown.rounds for card in r.posts]
    assert [(c.channel, c.k, c.n) for c in cards] == [(p.channel, p.k, p.n) for p in posts_of(record)]
    said = [c for c in cards if c.place == "post"]
    assert said and all(c.seat and (c.text or c.position or c.parts or c.chips) for c in said)
    assert all(c.text or c.head or c.position or c.chips or c.parts for c in cards if c.place != "hidden")
    assert shown.result is not None and shown.result.stop and shown.result.parts
    assert all(n in {c.n for c in cards} for n in shown.result.posts)
    assert msgspec.json.decode(msgspec.json.encode(shown), type=Session) == shown


@each
def test_what_is_measured_is_there_by_round(path: Path) -> None:
    fold, shown = _shown(path)
    assert {s.group for s in shown.signals} == GROUPS[fold.protocol]
    assert all(len(s.rounds) == len(s.values) for s in shown.signals)
    if fold.protocol in ("consensus", "critic"):
        assert all(s.threshold == fold.opened.settings["threshold"] for s in shown.signals if fold.opened)
    assert all(len(settings) == 1 for settings in candidates(fold))


@each
def test_what_clients_do_not_read_is_not_there(path: Path) -> None:
    fold, shown = _shown(path)
    assert all(may_read(CLIENTS, c.channel) for r in shown.rounds for c in r.posts)
    hidden = [p for p in posts_of(read_record(path)) if not may_read(CLIENTS, p.channel)]
    assert fold.left_out == len(hidden) and bool(shown.left_out) == bool(hidden)
    assert set(fold.position) <= {c for c in fold.position if may_read(CLIENTS, c)}


def test_a_mind_is_changed_with_its_reason_and_the_post_that_moved_it() -> None:
    changed = [change for path in LOGS.values() for change in _shown(path)[1].changes]
    assert changed and all(c.after and c.by and c.before != c.after for c in changed)


def test_refused_arguments_stand_with_their_reasons() -> None:
    debates = [_shown(path)[1] for name, path in LOGS.items() if name.endswith("maci")]
    refused = [r for shown in debates for r in shown.refused if r.kind == "refused"]
    assert refused and all(r.why and r.seat and r.post is not None for r in refused)


def test_each_stop_test_stands_with_its_figure_where_the_certificate_has_them() -> None:
    rules = {name: shown.result.rules for name, path in LOGS.items() if (shown := _shown(path)[1]).result}
    debates = [found for name, found in rules.items() if name.endswith("maci")]
    assert debates and all(found for found in debates)
    assert all(test.what and test.value for found in debates for rule in found for test in rule.tests)
    assert all(rule.holds == all(test.holds for test in rule.tests) for found in debates for rule in found)
    assert not any(found for name, found in rules.items() if not name.endswith("maci"))
