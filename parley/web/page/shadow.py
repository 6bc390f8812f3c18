"""The recorded events of a session under other rules: pure replays, in threads, few at once, and remembered."""

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from parley.client import what_if
from parley.client.errors import BadInput
from parley.client.protocols import setup_of
from parley.client.records import record_of
from parley.client.show.words import reason_words
from parley.client.text import count
from parley.client.view.fold import Fold
from parley.schemas import log
from parley.schemas.wire import decode, figure
from parley.web.page.messages import Shadow, ShadowRow, WhatIf

AT_ONCE = 2
"""Replays that run at the same time."""
KEPT = 256
"""Answers that are remembered."""
MOST_ENTRIES = 20_000
"""Entries of a record that is replayed here."""
PATIENCE_S = 30.0
_POINTS = (0.75, 0.85, 0.95, 1.05)
"""Shares of a threshold at which the shadow looks."""
_ROUNDS = (2, 3, 4, 6, 8)
_THRESHOLDS = ("threshold",)
_NOTHING = "None of the other thresholds and round limits that were tried would have ended it earlier."
_NO_RULE = "It has no threshold and no round limit that could have ended it earlier."


class Shadows:
    """Replays under other settings."""

    def __init__(self) -> None:
        self._gate = asyncio.Semaphore(AT_ONCE)
        self._kept: OrderedDict[tuple[str, int, bytes], WhatIf | BadInput] = OrderedDict()

    async def what_if(self, fold: Fold, settings: Mapping[str, Any]) -> WhatIf:
        """The session under these settings of its protocol. Raises BadInput, Altered."""
        if not settings:
            raise BadInput("settings", "name at least one setting to change")
        setup_of(fold.protocol).refuse_local_files(settings)
        if len(fold.texts) > MOST_ENTRIES:
            raise BadInput("session", f"{len(fold.texts):,} entries, replayed here are at most {MOST_ENTRIES:,}")
        key = fold.sid, len(fold.texts), msgspec.json.encode(settings, order="deterministic")
        outcome = self._kept.get(key)
        if outcome is None:
            outcome = await self._replayed(fold, settings)
            self._kept[key] = outcome
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        if isinstance(outcome, BadInput):
            raise outcome
        return outcome

    async def _replayed(self, fold: Fold, settings: Mapping[str, Any]) -> WhatIf | BadInput:
        record, protocol = record_of(fold.sid, tuple(fold.texts)), fold.protocol
        async with self._gate:
            try:
                async with asyncio.timeout(PATIENCE_S):
                    comparison = await asyncio.to_thread(what_if.compare, record, {protocol: dict(settings)})
            except BadInput as error:
                return error
            except TimeoutError:
                raise BadInput("session", f"the replay took longer than {PATIENCE_S:g} s") from None
        return _told(fold, settings, comparison)

    async def shadow(self, fold: Fold) -> Shadow:
        """Where other thresholds and round limits would have ended it: in an earlier round, or for fewer tokens."""
        endings: dict[tuple[str, str, int, int], list[tuple[float, WhatIf]]] = {}
        rules = list(candidates(fold))
        for settings in rules:
            ((name, value),) = settings.items()
            with contextlib.suppress(BadInput):  # out of its range, or it acts before the first event
                outcome = await self.what_if(fold, settings)
                if outcome.stop and outcome.saved_tokens is not None and outcome.round is not None:
                    key = name, outcome.stop, outcome.round, outcome.saved_tokens
                    if outcome.saved_tokens or outcome.round < fold.scene.round:
                        endings.setdefault(key, []).append((float(value), outcome))
        rows = tuple(_row(fold, name, sorted(alike, key=lambda pair: pair[0])) for (name, *_), alike in endings.items())
        note = "" if rows else _NOTHING if rules else _NO_RULE
        return Shadow(rows=rows, note=note)


def candidates(fold: Fold) -> Iterator[dict[str, Any]]:
    """Settings that might have ended the session earlier."""
    settings = fold.opened.settings if fold.opened else {}
    for name in _THRESHOLDS:
        value = settings.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            for share in _POINTS:
                at = round(value * share, 2) if value <= 1 else float(round(value * share))
                if at < value or (at <= 100 < value * 2 and at > value):
                    yield {name: at}
    limit = settings.get("round_limit")
    if isinstance(limit, int):
        yield from ({"round_limit": n} for n in _ROUNDS if n < min(limit, fold.scene.round))


def _told(fold: Fold, settings: Mapping[str, Any], comparison: dict[str, Any]) -> WhatIf:
    at, stop = comparison["n"], comparison["stop"] or ""
    tokens, cost = _after(fold, at) if at is not None and stop else (None, None)
    result = comparison["result"] or {}
    answer = (result.get("outcome") or {}).get("answer")
    converged = bool((result.get("stop") or {}).get("converged", True))
    return WhatIf(
        settings=dict(settings),
        parts_at=at,
        round=_round(fold, at) if at is not None else None,
        how=comparison["how"],
        stop=stop,
        stop_words=reason_words(stop, converged) if stop else "",
        answer=answer if isinstance(answer, str) else "",
        saved_tokens=tokens,
        saved_cost_usd=cost,
        words=tuple(what_if.comparison_words(comparison)),
    )


def _after(fold: Fold, at: int) -> tuple[int, float]:
    """What the recorded run used behind a transition, without the turns that word its end: the other run has such
    turns, too."""
    tokens, cost, ends = 0, 0.0, set[str]()
    for text in fold.texts:
        entry = decode(text.encode(), log.Entry)
        asks = ((i, c) for i, c in enumerate(entry.commands) if isinstance(c, log.Ask))
        ends |= {f"{entry.n}-{i}" for i, ask in asks if ask.final}
        event = entry.event
        if entry.n > at and isinstance(event, log.Replied) and event.turn not in ends:
            tokens += event.usage.input_tokens + event.usage.output_tokens
            cost += event.usage.cost_usd
    return tokens, cost


def _round(fold: Fold, at: int) -> int | None:
    """The round that was played at a transition."""
    return max((post.round for post in fold.posts if post.transition <= at), default=None)


def _row(fold: Fold, name: str, alike: Sequence[tuple[float, WhatIf]]) -> ShadowRow:
    """Values of one setting that end it alike, from the lowest to the highest."""
    (least, outcome), (most, _) = alike[0], alike[-1]
    label = f"{name.replace('_', ' ')} {figure(least)}" + (f" to {figure(most)}" if most > least else "")
    saved, round_ = outcome.saved_tokens or 0, outcome.round or 0
    recorded = str(fold.result.outcome.get("answer", "")) if fold.result else ""
    differs = outcome.answer != recorded if outcome.answer and recorded else None
    earlier = max(0, fold.scene.round - round_)
    # a keyless model uses no tokens, so that only rounds can be saved
    saving = (
        f" and saved {count(saved, 'token')}" if saved else f", {count(earlier, 'round')} earlier" if earlier else ""
    )
    words = f"At {label} it would have ended in round {round_}{saving}."
    return ShadowRow(
        settings=outcome.settings,
        label=label,
        stop=outcome.stop,
        round=outcome.round,
        saved_tokens=saved,
        saved_cost_usd=outcome.saved_cost_usd or 0.0,
        answer_differs=differs,
        words=words,
    )
