"""What an expert's process does about a post that it hears: it claims, passes, challenges, or says nothing.

It decides by its own specification and its own reading of the task, in this process: no model, no encoder, no clock.
What intake found about it is advice. It overrules it both ways: it claims what intake did not name it for, and passes
on what intake took it for where the task says that just this is not wanted.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from math import floor

from parley.agents.expert_matching.keyword_baseline import CLOSE, FILE, files, own_words
from parley.agents.expert_matching.word_roots import PromptReading, read_prompt, roots, roots_of, share, stands_in
from parley.agents.hearing import Hear
from parley.bus.channels import PUBLIC
from parley.schemas.expert import ExpertSpec, relevance_word
from parley.schemas.post import Post
from parley.schemas.protocols.madp.messages import (
    CHALLENGES,
    CLAIMS,
    Challenge,
    Challenges,
    Claim,
    ClaimsPosted,
    Pass,
    Resolution,
    TaskPosted,
)
from parley.schemas.routing import Task
from parley.schemas.turn import Speak
from parley.schemas.wire import decode, raw

HEARD = ((PUBLIC, "task"), (PUBLIC, "claims"))
"""(channel, kind) of the posts that it does anything about."""
KEPT = 256
"""Tasks that a process remembers between its claim and its challenges."""
_NEAR = 0.6
"""Share of the words of a phrase that it owns, from which on a task names it."""
_CLEARLY = 0.25
"""Confidence by which one claimant has to exceed another to object to it."""
_MOST = 8
"""Challenges of one expert: as many as parley.schemas.protocols.madp.messages.Challenges holds."""


def own_score(spec: ExpertSpec, task: Task) -> float:
    """How much of a task is this expert's by its own words and files, 0 to 1."""
    total = own_words(spec, read_prompt(task.prompt).wanted) + FILE * files(spec, task)
    return min(1.0, round(total, 6))


def vetoed(spec: ExpertSpec, task: Task) -> bool:
    """Whether a task says that just what is this expert's is not wanted: it is named, and only under a negation."""
    reading = read_prompt(task.prompt)
    return bool(reading.unwanted) and not _names(spec, reading.wanted) and _names(spec, reading.unwanted)


def _names(spec: ExpertSpec, wanted: Sequence[str]) -> bool:
    phrases = [roots(p) for p in (*spec.triggers.primary, *spec.triggers.secondary)]
    return any(stands_in(p, wanted) for p in phrases) or any(share(roots(p), wanted) >= _NEAR for p in spec.domain.owns)


def owned(spec: ExpertSpec, wanted: Sequence[str], most: int = 2) -> tuple[str, ...]:
    """What it owns that a task speaks of, the most fitting first."""
    shares = [(share(roots(p), wanted), p) for p in spec.domain.owns]
    return tuple(p for value, p in sorted(shares, key=lambda s: -s[0]) if value > 0)[:most]


def deferred(spec: ExpertSpec, wanted: Sequence[str]) -> dict[str, str]:
    """Experts to whom it leaves something that a task speaks of -> what, in the specification's words."""
    mine = {r for p in spec.triggers.primary for r in roots(p)}
    return {
        expert: what
        for expert, what in spec.domain.defers.items()
        if share(set(roots(what)) - mine or roots(what), wanted) > 0
    }


def claim(spec: ExpertSpec, post: TaskPosted) -> Claim | Pass | None:
    """What it says to a task; None: nothing."""
    reply = _claim(spec, post)
    if reply is None and post.everyone and not spec.general:
        return Pass(agent_id=spec.id)
    return reply


def _claim(spec: ExpertSpec, post: TaskPosted) -> Claim | Pass | None:
    task, named = post.task, next((c for c in post.candidates if c.expert == spec.id), None)
    if spec.general:
        return None if named is None else _claimed(spec, post, named.confidence, named.confidence)
    if vetoed(spec, task):
        return None if named is None else Pass(agent_id=spec.id, why="The task says that this is not to be done.")
    own, medium = own_score(spec, task), spec.deliberation.confidence.medium
    leads = max(own, named.confidence) if named else own
    score = max(leads, named.relevance) if named else own
    if named and post.candidates[0].expert == spec.id:
        leads = score  # whoever intake puts first should lead, as far as intake can see
    if post.unmatched and own > 0:
        return _claimed(spec, post, own, own, sent=True)
    if score < medium:
        return None if named is None else Pass(agent_id=spec.id, why=_short_of(spec, score))
    # To have a part in a task is of medium relevance, however sure it is: high is for who should lead it.
    score = leads if leads >= medium else medium
    return _claimed(spec, post, score, named.confidence if named else own, sent=named is None)


def _claimed(spec: ExpertSpec, post: TaskPosted, relevance: float, confidence: float, *, sent: bool = False) -> Claim:
    wanted = read_prompt(post.task.prompt).wanted
    topics = deferred(spec, wanted)
    mine = owned(spec, wanted) if post.claims == "full" else ()
    words = " ".join([spec.deliberation.claim, *(["Here: " + "; ".join(mine) + "."] if mine else [])])
    return Claim(
        agent_id=spec.id,
        claim=words[:600],
        relevance=relevance_word(spec, relevance),
        defers_to=tuple(topics)[:12],
        topics=dict(tuple(topics.items())[:12]),
        confidence=confidence,
        spec=spec if sent else None,
    )


def _short_of(spec: ExpertSpec, score: float) -> str:
    medium = spec.deliberation.confidence.medium
    shown = floor(score * 100) / 100  # cut, not rounded: what is below a threshold never looks like it
    return f"Its confidence, {shown:.2f}, is below {medium:.2f}, from which on it takes part."


def challenges(spec: ExpertSpec, task: Task | None, posted: ClaimsPosted) -> tuple[Challenge, ...] | None:
    """What it objects to in others' claims; None: it has made none itself, so it says nothing. `task`: none: another
    copy of this expert heard the task; it goes by the claims alone."""
    mine = next((c for c in posted.claims if c.agent_id == spec.id), None)
    if mine is None:
        return None
    reading = read_prompt(task.prompt) if task is not None else None
    raised = [_challenge(spec, mine, theirs, reading) for theirs in posted.claims if theirs.agent_id != spec.id]
    return tuple(c for c in raised if c is not None)[:_MOST]


def _challenge(spec: ExpertSpec, mine: Claim, theirs: Claim, reading: PromptReading | None) -> Challenge | None:
    """What it says to one other claimant; None: nothing.

    To whom it leaves more of the task than it owns: that it should lead. To whom claims what is its own, and is clearly
    less sure: that it should support, or stay out if the task names nothing of what it claims. To who is as sure of the
    same matter: to work together.
    """

    def says(resolution: Resolution, reason: str) -> Challenge:
        return Challenge(
            challenger_id=spec.id, challenged_id=theirs.agent_id, reason=reason[:600], proposed_resolution=resolution
        )

    wanted = reading.wanted if reading is not None else roots_of(mine.claim)
    ours = max((share(roots(p), wanted) for p in spec.domain.owns), default=0.0)
    if (topic := mine.topics.get(theirs.agent_id)) is not None:
        if share(roots(topic), wanted) > ours and theirs.confidence >= mine.confidence - CLOSE:
            return says("lead", f"This task is about what I leave to {theirs.agent_id}: {topic}.")
        return None
    if spec.id in theirs.topics:
        return None  # it leaves to this expert what is this expert's: nothing to object to
    ahead = mine.confidence - theirs.confidence
    if ahead >= _CLEARLY:
        if reading is not None and not share(roots_of(theirs.claim), wanted):
            return says("exclude", f"The task names nothing of what {theirs.agent_id} claims.")
        what = next(iter(owned(spec, wanted, 1)), "")
        return says("support", f"What this task is about is mine: {what or spec.deliberation.claim}")
    if abs(ahead) <= CLOSE:
        shared = owned(spec, roots_of(theirs.claim), 1)
        return says("collaborate", f"We both own part of this{': ' + shared[0] if shared else ''}.")
    return None


def hear(spec: ExpertSpec) -> Hear:
    """What the process of one expert hears, and does about it (parley.agents.turn_kinds.kit.Kit.hear)."""
    return Hear(HEARD, make_hear(spec))


def make_hear(spec: ExpertSpec) -> Callable[[Post], Speak | None]:
    """What the process of one expert does about the posts that it hears (parley.agents.hearing.Hear.react)."""
    tasks: OrderedDict[str, Task] = OrderedDict()

    def react(post: Post) -> Speak | None:
        if post.seat:
            return None  # a participant's words, whatever they call themselves
        if post.kind == "task":
            task = decode(post.body, TaskPosted)
            if task.claims == "none" or task.degraded or task.override:
                return None
            tasks[post.session] = task.task
            while len(tasks) > KEPT:
                tasks.popitem(last=False)
            reply = claim(spec, task)
            return (
                None
                if reply is None
                else Speak(window=CLAIMS, kind="claim" if isinstance(reply, Claim) else "pass", body=raw(reply))
            )
        if post.kind == "claims":
            posted, of = decode(post.body, ClaimsPosted), tasks.pop(post.session, None)
            if not posted.challenges:
                return None
            objections = challenges(spec, of, posted)
            return (
                None
                if objections is None
                else Speak(window=CHALLENGES, kind="challenges", body=raw(Challenges(challenges=objections)))
            )
        return None

    return react
