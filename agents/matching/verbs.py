"""Rules for the verb of a task, if it says more about the right lead than the subject does.

repair     "the tests fail, fix the code": whoever is likeliest, and leaves repairing to others in its specification,
           yields to the likeliest of those
improve    "improve performance": it is not said what is wrong, so whoever measures leads, and others have a part
redesign   "redesign the data layer": more than one expert's, however sure it is whose first
small      "write a test for this function": one thing, so one expert beside the lead is enough
guard      "add JWT auth": who may do what is thought out, written and tested by different experts, so two are beside
"""

import re

import numpy as np

from parley.agents.matching.subjects import Floats
from parley.agents.matching.word_roots import root, roots
from parley.agents.retrieval.corpus import word_set
from parley.schemas.expert import ExpertSpec


def _roots(words: str) -> frozenset[str]:
    return frozenset(map(root, word_set(words)))


_REPAIR = _roots("fix fixing repair repairing correct correcting mend solve resolve green pass")
_FAILING = _roots("fail failing fails failed failure red broken green pass passing defect bug fault")
_UNSTABLE = _roots("flaky unstable stabilise stabilize intermittent sometimes")
_IMPROVE = _roots("improve optimise optimize boost increase better faster speed")
_SPEED = _roots("performance speed fast faster slow")
_MEASURES = _roots("performance latency profiling measure monitoring observability load metric capacity")
_REDESIGN = _roots("redesign rearchitect overhaul rework restructure")
_SMALL = re.compile(
    r"\b(?:this|that|one|a single)\s+"
    r"(?:function|method|line|file|class|test|query|variable|paragraph|sentence|button)\b",
    re.I,
)
_ADD = _roots("add implement introduce build support")
_GUARD = _roots("auth authentication authorization authorisation login sso jwt oauth 2fa passkeys permissions roles")
_MOST_WORDS = 4
"""Words of meaning up to which a task says only that something should be otherwise."""
_SURE, _SECOND = 0.65, 0.55
_BESIDE = 2


def yields_to(specs: tuple[ExpertSpec, ...], wanted: tuple[str, ...], lead: Floats) -> int | None:
    """Who leads in the place of the likeliest, which leaves what the verb asks for to it; None: nobody."""
    words = frozenset(wanted)
    if not (words & _REPAIR and words & _FAILING) or words & _UNSTABLE:
        return None
    first = specs[int(lead.argmax())]
    places = {s.id: i for i, s in enumerate(specs)}
    fit = [
        places[other]
        for other, what in first.domain.defers.items()
        if other in places and not _REPAIR.isdisjoint(roots(what))
    ]
    return max(fit, key=lambda i: lead[i], default=None)


def measures(specs: tuple[ExpertSpec, ...], wanted: tuple[str, ...]) -> int | None:
    """Who measures first, where a task only says that something should be faster; None: it says more, or nobody."""
    words = frozenset(wanted)
    if not (words & _IMPROVE and words & _SPEED) or len(words) > _MOST_WORDS:
        return None
    of = [
        sum(
            not _MEASURES.isdisjoint(roots(p))
            for p in (*s.triggers.primary, *s.triggers.secondary, *s.domain.owns, s.deliberation.claim)
        )
        for s in specs
    ]
    return int(np.argmax(of)) if max(of, default=0) > 0 else None


def is_redesign(wanted: tuple[str, ...]) -> bool:
    """Whether it asks for something to be thought out anew, and hardly says how."""
    return not _REDESIGN.isdisjoint(wanted) and len(set(wanted)) <= _MOST_WORDS


def is_small(prompt: str, wanted: tuple[str, ...]) -> bool:
    """Whether it asks for one small thing, and says little else."""
    return _SMALL.search(prompt) is not None and len(set(wanted)) <= _MOST_WORDS


def adds_guard(wanted: tuple[str, ...]) -> bool:
    """Whether it asks for a way to tell who may do what, and hardly says how."""
    words = frozenset(wanted)
    return bool(words & _ADD and words & _GUARD) and len(words) <= _MOST_WORDS


def sized(prompt: str, wanted: tuple[str, ...], lead: Floats, part: Floats, candidate: float) -> Floats:
    """Relevance, with as many experts beside the lead as so much work needs; the others stay as they are.

    Parameters
    ----------
    candidate
        Relevance from which on an expert is one.
    """
    first = int(lead.argmax())
    order = [i for i in np.argsort(-part) if i != first]
    part = part.copy()
    if is_small(prompt, wanted):
        rest = order[1:]
        part[rest] = np.minimum(part[rest], np.nextafter(candidate, 0))
    elif adds_guard(wanted):
        beside, rest = order[:_BESIDE], order[_BESIDE:]
        part[beside] = np.maximum(part[beside], candidate)
        part[rest] = np.minimum(part[rest], np.nextafter(candidate, 0))
    return part


def adjusted(
    specs: tuple[ExpertSpec, ...], wanted: tuple[str, ...], lead: Floats, part: Floats
) -> tuple[Floats, Floats, bool]:
    """(confidence, relevance, whether it is clear what is asked for)."""
    lead, part = lead.copy(), part.copy()
    instead = yields_to(specs, wanted, lead)
    if instead is not None:
        first = int(lead.argmax())
        sure = float(lead[first])
        lead[first] = min(1 - sure, sure / 2, float(lead[instead]))
        lead[instead] = part[instead] = sure
        return lead, np.maximum(part, lead), True
    measuring = measures(specs, wanted)
    if measuring is None and not is_redesign(wanted):
        return lead, part, True
    order = [i for i in np.argsort(-np.maximum(lead, part)) if i != measuring]
    lead = np.minimum(lead, _SURE if measuring is None else _SECOND)
    if measuring is not None:
        lead[measuring] = part[measuring] = _SURE
    beside = order[: _BESIDE + (measuring is None)]
    part[beside] = np.maximum(part[beside], _SECOND)
    return lead, np.maximum(part, lead), False
