"""The recorded events of a session under other settings: pure replays, in threads, few at once."""

import asyncio
from collections.abc import Mapping
from typing import Any

from parley.client import what_if
from parley.client.errors import BadInput
from parley.client.protocols import setup_of
from parley.client.records import record_of
from parley.client.show.words import reason_words
from parley.client.view.fold import Fold
from parley.schemas import log
from parley.schemas.wire import decode
from parley.web.page.messages import WhatIf

MOST_ENTRIES = 20_000
"""Entries of a record that is replayed here."""
PATIENCE_S = 30.0
_AT_ONCE = asyncio.Semaphore(2)
"""Replays that run at the same time."""


async def replayed(fold: Fold, settings: Mapping[str, Any]) -> WhatIf:
    """The session under these settings of its protocol. Raises BadInput, Altered."""
    if not settings:
        raise BadInput("settings", "name at least one setting to change")
    setup_of(fold.protocol).refuse_local_files(settings)
    if len(fold.texts) > MOST_ENTRIES:
        raise BadInput("session", f"{len(fold.texts):,} entries, replayed here are at most {MOST_ENTRIES:,}")
    record = record_of(fold.sid, tuple(fold.texts))
    async with _AT_ONCE:
        try:
            async with asyncio.timeout(PATIENCE_S):
                comparison = await asyncio.to_thread(what_if.compare, record, {fold.protocol: dict(settings)})
        except TimeoutError:
            raise BadInput("session", f"the replay took longer than {PATIENCE_S:g} s") from None
    return _told(fold, settings, comparison)


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
