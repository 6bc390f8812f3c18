"""Who takes a task: candidates, claims and challenges as cards."""

from collections.abc import Iterator

from parley.client.show.card import Card, CardQuote, Chip, paragraphs
from parley.client.show.palette import seat_name
from parley.client.text import line
from parley.schemas.protocols.madp.messages import Challenges, Claim, ClaimsPosted, TaskPosted
from parley.schemas.routing import ASKED

_MATCHED_BY = {
    "better": "words and meaning",
    "better, by words": "words alone",
    "words": "the triggers of experts",
    "keyword": "keywords",
}
"""Matcher -> what it looks at."""
_PROPOSES = {
    "lead": "as the lead",
    "support": "as support",
    "collaborate": "beside the other",
    "exclude": "not at all",
}
"""What a challenge proposes for the challenged expert."""


def task(body: TaskPosted) -> Card:
    """The candidates, and what the matcher made of the task."""
    chips = [Chip(text=f"depth {body.depth}", tone="quiet")]
    if body.degraded:
        chips.append(Chip(text="coordination is degraded: experts are chosen by keywords", tone="warn"))
    if body.override:
        chips.append(Chip(text=f"a human chose {seat_name(body.override)}"))
    parts = tuple(
        CardQuote(
            who=c.expert,
            text=c.why,
            chips=(
                Chip(text=_fits(c.relevance), tone="quiet"),
                Chip(text=_sure(c.confidence), tone="good" if c.confidence >= 0.5 else "quiet"),
            ),
        )
        for c in body.candidates
    )
    return Card(
        place="note",
        more=not (body.degraded or body.override),
        head="who may take it",
        chips=tuple(chips),
        parts=parts,
        text=paragraphs("" if parts else "No expert matches.", _matcher(body.matcher)),
    )


def _matcher(matcher: str) -> str:
    """`Candidates found by words and meaning.`; empty: the matcher is not named."""
    name, asked, model = matcher.partition(ASKED)
    text = f"Candidates found by {_MATCHED_BY.get(name, line(name))}" if name else ""
    return text + (f"; {line(model)} was asked" if asked else "") + ("." if text else "")


def _fits(relevance: float) -> str:
    """How well a task fits an expert, 0 to 1, in words."""
    how = "well" if relevance >= 0.7 else "in part" if relevance >= 0.3 else "hardly"
    return f"fits the task {how}"


def _sure(confidence: float) -> str:
    """How likely an expert is the right lead, 0 to 1, in words."""
    return f"{'a likely' if confidence >= 0.5 else 'a possible' if confidence >= 0.1 else 'an unlikely'} lead"


def relevance(relevance: str) -> Chip:
    """How near a claim says that the task is."""
    return Chip(text=f"relevance {relevance}", tone="good" if relevance == "high" else "quiet")


def claims(body: ClaimsPosted) -> Iterator[CardQuote]:
    """What each candidate says."""
    yield from (
        CardQuote(who=c.agent_id, head="claims it", text=c.claim, chips=tuple(_of_claim(c))) for c in body.claims
    )
    yield from (CardQuote(who=p.agent_id, head="passes", text=p.why) for p in body.passed)
    yield from (CardQuote(who=expert, chips=(Chip(text="silent", tone="warn"),)) for expert in body.silent)


def _of_claim(c: Claim) -> Iterator[Chip]:
    yield relevance(c.relevance)
    if c.confidence:
        yield Chip(text=f"confidence {c.confidence:.2f}", tone="quiet")
    for names, what in ((c.defers_to, "defers to"), (c.requires, "needs")):
        for name in names:
            topic = f" for {c.topics[name]}" if c.topics.get(name) else ""
            yield Chip(text=f"{what} {seat_name(name)}{topic}")


def challenges(body: Challenges) -> Card:
    """What one expert objects to."""
    parts = tuple(
        CardQuote(
            who=c.challenger_id,
            head=f"challenges {seat_name(c.challenged_id)}",
            text=c.reason,
            chips=(Chip(text=f"wants it {_PROPOSES.get(c.proposed_resolution, c.proposed_resolution)}", tone="warn"),),
        )
        for c in body.challenges
    )
    if not parts:
        return Card(place="line", more=True, text="challenges nobody")
    return Card(place="note", more=True, head="challenges", parts=parts)
