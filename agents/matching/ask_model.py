"""Asks the helper's language model once who should lead, if the matcher is unsure (docs/decisions/0015).

It is shown the task and what the experts' specifications say, all of it fenced, and names ids out of a list: another
one is no reply. Whatever goes wrong, the computed match stands, and a flag of the reply says why.

    lead          its confidence is what the model says, and the computed one if that is more and of the same expert;
                  relevance at least its own `high`: who leads a task has the most of it
    support       relevance at least its own `medium`, so that it claims
    all others    confidence at most `left`: what the lead leaves, and half of the lead's
"""

import asyncio
import logging
import time
from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Any, Literal

import msgspec

from parley.agents.context import Shown
from parley.agents.matching import words
from parley.agents.matching.sanitize import sanitized
from parley.agents.matching.scoring import CANDIDATE
from parley.agents.model.base import Completion, Emit, Model, ModelError
from parley.agents.task_texts import task_texts
from parley.agents.tokens import estimate
from parley.schemas.expert import ExpertSpec
from parley.schemas.routing import (
    ASKED,
    MOST_CANDIDATES,
    NOT_ANSWERED,
    NOT_ASKED,
    Asking,
    Candidate,
    Match,
    Matched,
    Task,
)
from parley.schemas.turn import Usage
from parley.schemas.wire import encode

_LOGGER = logging.getLogger(__name__)
NOBODY = "nobody"
MOST_SHOWN = 24
"""Experts of which it is told, the likeliest first."""
_LONGEST = 12_000
"""Characters of a prompt that it is shown: its beginning and its end."""
_PHRASES = (12, 6, 3)
"""Of what an expert owns, and leaves to others: so many are told, and fewer where that takes most of the prompt."""
_LEAST_S = 0.5
"""With less time than this it is not asked."""
Known = Sequence[tuple[ExpertSpec, Candidate]]


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """What it is told of one expert."""

    id: str
    claim: str
    owns: tuple[str, ...]
    leaves_to_others: dict[str, str]


class WhoLeads(msgspec.Struct, frozen=True, kw_only=True):
    """The brief of its question."""

    task: Task
    experts: tuple[Card, ...]


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """Its reply, once the ids are known to be there."""

    lead: str
    """Or NOBODY."""
    support: tuple[str, ...]
    confidence: float
    why: str


@lru_cache(maxsize=16)
def reply_of(ids: tuple[str, ...]) -> Any:
    """The reply's type where these experts are shown: a schema that holds no other id."""
    return msgspec.defstruct(
        "Lead",
        [
            ("lead", Literal[(*ids, NOBODY)]),
            ("support", tuple[Literal[ids], ...]),  # type: ignore[valid-type]
            ("confidence", Annotated[float, msgspec.Meta(ge=0, le=1)]),
            ("why", str),
        ],
        frozen=True,
        kw_only=True,
    )


def is_unsure(matched: Matched, below: float) -> bool:
    """Whether nobody was found, or nobody this surely."""
    return not matched.candidates or matched.candidates[0].confidence < below


async def ask(model: Model, shown: Shown, emit: Emit, computed: Completion, everybody: Known) -> Completion:
    """The computed reply to a Match, or what the model makes of it.

    Parameters
    ----------
    everybody
        All experts but general-purpose ones, the likeliest first, with what is computed of each; at least one.
    """
    assert shown.experts is not None and isinstance(shown.brief.asking, Asking)
    asking: Asking = shown.brief.asking
    now = time.time_ns()
    ends = now + int(asking.within_s * 1e9)
    ends = min(ends, shown.deadline_ns) if shown.deadline_ns else ends
    left_s = (ends - now) / 1e9
    why = asking.refused or (f"{left_s:.1f} s are left" if left_s < _LEAST_S else "")
    if why:
        return _flagged(computed, f"{NOT_ASKED}{why}", Usage())
    asks = question(shown, everybody[:MOST_SHOWN], ends)
    try:
        async with asyncio.timeout(left_s):
            completion = await model.reply(asks, emit)
        named = msgspec.convert(completion.body, Named, from_attributes=True)
    except ModelError as error:
        return _flagged(computed, f"{NOT_ANSWERED}{error.why}", error.usage)
    except TimeoutError:
        return _flagged(computed, f"{NOT_ANSWERED}it took too long", Usage())
    except Exception as fault:
        _LOGGER.exception("the model that is asked who leads")
        return _flagged(computed, f"{NOT_ANSWERED}it raised {type(fault).__name__}", Usage())
    body = settled(shown.brief.task, computed.body, named, everybody, shown.experts.specs(), model.name)
    return msgspec.structs.replace(
        computed, body=body, usage=completion.usage, flags=tuple(dict.fromkeys((*computed.flags, *completion.flags))),
        first_token_s=completion.first_token_s,
    )  # fmt: skip


def _flagged(computed: Completion, flag: str, usage: Usage) -> Completion:
    """The computed reply, and why it stands; what the model used is booked."""
    return msgspec.structs.replace(
        computed, usage=usage if usage.calls else computed.usage, flags=(*computed.flags, flag[:200])
    )


def question(shown: Shown, foremost: Known, ends: int) -> Shown:
    """The turn as the model sees it.

    Parameters
    ----------
    foremost
        Whom it is told of.
    ends
        By when it must have replied, in ns.
    """
    brief: Match = shown.brief
    specs = sorted((spec for spec, _ in foremost), key=lambda s: s.id)
    room = shown.caps.input_tokens // 2
    of = [tuple(_card(spec, most) for spec in specs) for most in _PHRASES]
    cards = next((c for c in of if estimate(encode(c).decode()) <= room), of[-1])
    prompt = brief.task.prompt
    if len(prompt) > _LONGEST:
        prompt = f"{prompt[: _LONGEST // 2]}\n(cut)\n{prompt[-_LONGEST // 2 :]}"
    task = msgspec.structs.replace(brief.task, prompt=prompt)
    return msgspec.structs.replace(
        shown, question=prompt, brief=WhoLeads(task=task, experts=cards), reply=reply_of(tuple(c.id for c in cards)),
        others=(*shown.others, *task_texts(task)), deadline_ns=ends, experts=None,
    )  # fmt: skip


def _card(spec: ExpertSpec, most: int) -> Card:
    return Card(
        id=spec.id, claim=spec.deliberation.claim, owns=spec.domain.owns[:most],
        leaves_to_others=dict(list(spec.domain.defers.items())[:most]),
    )  # fmt: skip


def settled(
    task: Task, matched: Matched, named: Named, everybody: Known, specs: Sequence[ExpertSpec], model: str
) -> Matched:
    """The match with what the model named: it first, its support, and the computed candidates after these."""
    known = {c.expert: (spec, c) for spec, c in everybody}
    by_words = {c.expert: c for c in matched.candidates}
    ranked: list[tuple[ExpertSpec, Candidate]] = []
    if named.lead != NOBODY:
        first = matched.candidates[0] if matched.candidates else None
        sure = max(named.confidence, first.confidence) if first and first.expert == named.lead else named.confidence
        rest = round(min(1 - sure, sure / 2), 4)
        spec, own = known[named.lead]
        why = " ".join(named.why.split())[:200]
        relevance = max(own.relevance, sure, spec.deliberation.confidence.high)
        lead = Candidate(expert=spec.id, relevance=round(relevance, 4), confidence=round(sure, 4), why=why)
        ranked = [(spec, lead)]
        for expert in dict.fromkeys((*named.support, *by_words)):
            if expert == named.lead:
                continue
            spec, own = known[expert]
            own = by_words.get(expert, own)
            least = max(CANDIDATE, spec.deliberation.confidence.medium) if expert in named.support else 0.0
            ranked.append((spec, _beside(own, least, rest)))
        ranked = ranked[:MOST_CANDIDATES]
    sure_of = [(spec, c.confidence) for spec, c in ranked]
    factors = msgspec.structs.replace(
        matched.factors,
        candidate_count=len(ranked),
        confidence_variance=words.variance([c for _, c in sure_of]),
        domain_overlap=words.has_overlapping_domains(sure_of, sanitized(task.prompt, tuple(s.id for s in specs))),
    )
    return words.assembled(task, specs, ranked, factors, f"{matched.matcher}{ASKED}{model}")


def _beside(own: Candidate, least: float, most: float) -> Candidate:
    """Somebody who does not lead."""
    return msgspec.structs.replace(
        own, relevance=max(own.relevance, least), confidence=min(own.confidence, most), why=own.why or "asked for"
    )
