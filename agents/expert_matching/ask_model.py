"""Asks the helper's language model once who should lead, if the matcher is unsure (docs/experts.md).

It is shown the task, fenced, and a line for each expert, and names ids out of these lines: another one is no reply.
Whatever goes wrong, the computed match stands, and a flag of the reply says why.

    lead          its confidence is what the model says; where the computed lead is the same, that either of the two is
                  right; relevance at least its own `high`: who leads a task has the most of it
    support       relevance at least its own `medium`, so that it claims; confidence at most what the lead leaves, and
                  half of the lead's
    all others    are no candidates
"""

import asyncio
import logging
import time
from collections.abc import Iterator, Sequence

import msgspec

from parley.agents.context import Shown, laid_beside
from parley.agents.expert_matching import keyword_baseline
from parley.agents.expert_matching.sanitize import sanitized
from parley.agents.model.base import Completion, Emit, Model, ModelError
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
from parley.schemas.wire import in_range

_LOGGER = logging.getLogger(__name__)
NOBODY = "nobody"
MOST_SHOWN = 24
"""Experts of which it is told, the likeliest first."""
MOST_LIST = 560
"""Characters of their lines, some 130 tokens: with the question less than 200."""
_LONGEST = 2_000
"""Characters of a prompt that it is shown: its beginning and its end."""
_BESIDE = 400
"""Characters of the task's code, and of what was said before."""
_LEAST_S = 0.5
"""With less time than this it is not asked."""
Known = Sequence[tuple[ExpertSpec, Candidate]]


class WhoLeads(msgspec.Struct, frozen=True, kw_only=True):
    """The brief of its question."""

    task: Task
    experts: tuple[str, ...]
    """A line for each."""


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """Its reply."""

    lead: str
    """An id, or NOBODY."""
    support: tuple[str, ...] = ()
    confidence: float

    def __post_init__(self) -> None:
        in_range("confidence", self.confidence, 0, 1)


def is_unsure(matched: Matched, below: float) -> bool:
    """Whether nobody was found, or nobody this surely."""
    return not matched.candidates or matched.candidates[0].confidence < below


async def ask(model: Model, shown: Shown, emit: Emit, computed: Completion, everybody: Known) -> Completion:
    """The computed reply to a Match, or what the model makes of it. `everybody`: all experts but general-purpose ones,
    the likeliest first, with what is computed of each; at least one."""
    assert shown.experts is not None and isinstance(shown.brief.asking, Asking)
    asking: Asking = shown.brief.asking
    now = time.time_ns()
    ends = now + int(asking.within_s * 1e9)
    ends = min(ends, shown.deadline_ns) if shown.deadline_ns else ends
    left_s = (ends - now) / 1e9
    why = asking.refused or (f"{left_s:.1f} s are left" if left_s < _LEAST_S else "")
    if why:
        return _flagged(computed, f"{NOT_ASKED}{why}", Usage())
    try:
        async with asyncio.timeout(left_s):
            completion = await model.reply(question(shown, everybody, ends), emit)
        named = msgspec.convert(completion.body, Named, from_attributes=True)
    except ModelError as error:
        return _flagged(computed, f"{NOT_ANSWERED}{error.why}", error.usage)
    except TimeoutError:
        return _flagged(computed, f"{NOT_ANSWERED}it took too long", Usage())
    except Exception as fault:
        _LOGGER.exception("the model that is asked who leads")
        return _flagged(computed, f"{NOT_ANSWERED}it raised {type(fault).__name__}", Usage())
    if named.lead not in (NOBODY, *(c.expert for _, c in everybody)):
        return _flagged(computed, f"{NOT_ANSWERED}it named {named.lead!r}, who is not there", completion.usage)
    body = match_from_answer(shown.brief.task, computed.body, named, everybody, shown.experts.specs(), model.name)
    return msgspec.structs.replace(
        computed,
        body=body,
        usage=completion.usage,
        flags=tuple(dict.fromkeys((*computed.flags, *completion.flags))),
    )


def _flagged(computed: Completion, flag: str, usage: Usage) -> Completion:
    """The computed reply, and why it stands; what the model used is booked."""
    return msgspec.structs.replace(
        computed, usage=usage if usage.calls else computed.usage, flags=(*computed.flags, flag[:200])
    )


def question(shown: Shown, everybody: Known, ends: int) -> Shown:
    """The turn as the model sees it.

    Parameters
    ----------
    everybody
        Whom it may be told of, the likeliest first.
    ends
        By when it must have replied, in ns.
    """
    brief: Match = shown.brief
    task = brief.task
    prompt = task.prompt
    if len(prompt) > _LONGEST:
        prompt = f"{prompt[: _LONGEST // 2]}\n(cut)\n{prompt[-_LONGEST // 2 :]}"
    before = next((m.text for m in reversed(task.prior_conversation) if m.role == "user"), "")
    beside = (("what was asked before", before), ("code of the task", "\n".join(task.code_snippets)))
    return msgspec.structs.replace(
        shown,
        question=prompt,
        brief=WhoLeads(task=task, experts=tuple(lines([s for s, _ in everybody[:MOST_SHOWN]]))),
        others=tuple(laid_beside(label, text[:_BESIDE], "task") for label, text in beside if text),
        reply=Named,
        deadline_ns=ends,
        experts=None,
    )


def lines(specs: Sequence[ExpertSpec]) -> Iterator[str]:
    """A line for each expert: its id, its title unless that is the id, and what it owns: of each the first phrase
    before the second of any, the likeliest first, as long as there is room."""
    told: list[list[str]] = [[] for _ in specs]
    phrases = [_phrases(spec) for spec in specs]
    room = MOST_LIST - sum(len(spec.id) + 1 for spec in specs)
    for i in range(max(map(len, phrases), default=0)):
        for of, each in zip(told, phrases, strict=True):
            if i < len(each) and len(each[i]) + 2 <= room:
                room -= len(each[i]) + 2
                of.append(each[i])
    yield from (f"{spec.id}: {'; '.join(of)}" if of else spec.id for spec, of in zip(specs, told, strict=True))


def _phrases(spec: ExpertSpec) -> tuple[str, ...]:
    """What it owns; its title stands before the first phrase."""
    title, (first, *more) = " ".join(spec.name.split()), (" ".join(p.split()) for p in spec.domain.owns)
    is_id = title.lower().replace(" and ", " ").replace(" ", "-") == spec.id
    return (first if is_id else f"{title}; {first}", *more)


def match_from_answer(
    task: Task, matched: Matched, named: Named, everybody: Known, specs: Sequence[ExpertSpec], model: str
) -> Matched:
    """The match that the model named: its lead first, then its support."""
    known = {c.expert: (spec, c) for spec, c in everybody}
    ranked: list[tuple[ExpertSpec, Candidate]] = []
    if named.lead != NOBODY:
        first = matched.candidates[0] if matched.candidates else None
        doubt = 1 - first.confidence if first and first.expert == named.lead else 1.0
        sure = 1 - (1 - named.confidence) * doubt
        spec, own = known[named.lead]
        least = spec.deliberation.confidence
        ranked = [(spec, _named(own, max(own.relevance, sure, least.high), sure))]
        for expert in dict.fromkeys(named.support):
            if expert in known and expert != named.lead:
                spec, own = known[expert]
                medium = max(own.relevance, spec.deliberation.confidence.medium)
                ranked.append((spec, _named(own, medium, min(own.confidence, 1 - sure, sure / 2))))
        ranked = ranked[:MOST_CANDIDATES]
    sure_of = [(spec, c.confidence) for spec, c in ranked]
    leading = [(spec, sure) for spec, sure in sure_of if sure >= keyword_baseline.HARDLY_LEADS]
    factors = msgspec.structs.replace(
        matched.factors,
        candidate_count=len(ranked),
        confidence_variance=keyword_baseline.variance([sure for _, sure in sure_of]),
        domain_overlap=keyword_baseline.has_overlapping_domains(
            leading, sanitized(task.prompt, tuple(s.id for s in specs))
        ),
        scope_definition=bool(ranked),
    )
    return keyword_baseline.assembled(task, specs, ranked, factors, f"{matched.matcher}{ASKED}{model}")


def _named(own: Candidate, relevance: float, confidence: float) -> Candidate:
    return Candidate(
        expert=own.expert,
        relevance=round(relevance, 4),
        confidence=round(confidence, 4),
        why=own.why or "named by the model",
    )
