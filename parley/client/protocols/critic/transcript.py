"""The critic protocol's posts, rounds and outcome in words."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from parley.client.show.lines import StyledLine
from parley.client.text import line
from parley.client.untrusted import items, mapping
from parley.schemas.result import Result

Body = Mapping[str, Any]

_WIDE = 300


def _question(seat: str, round_: int, body: Body, width: int) -> Iterator[StyledLine]:
    kept = not seat or body.get("note") == "kept as asked"
    who = "the question stands as it was asked" if kept else f"{line(seat)} rewrites the question"
    yield "seat", f"  {who}: {line(str(body.get('question', '')), _WIDE)}"
    if body.get("note"):
        yield "quiet", f"      {line(str(body['note']), width)}"


def _answer(seat: str, round_: int, body: Body, width: int) -> Iterator[StyledLine]:
    yield "seat", f"  {line(seat)} ({float(body.get('confidence', 0)):.2f}): {line(str(body.get('answer', '')), width)}"
    if body.get("reasoning"):
        yield "quiet", f"      {line(str(body['reasoning']), width)}"
    for one in body.get("addresses") or ():
        yield "quiet", f"      answers objection {one.get('objection')}: {line(str(one.get('how', '')), width)}"


def _objection(seat: str, round_: int, body: Body, width: int) -> Iterator[StyledLine]:
    pressed = ", asked again," if body.get("pressed") else ""
    if not body.get("number"):
        checked = f"; it computed: {line(str(body['checked']), _WIDE)}" if body.get("checked") else ""
        yield "seat", f"  {line(seat)}{pressed} has no new objection{checked}"
    else:
        said = line(str(body.get("objection", "")), max(width, _WIDE))
        yield "seat", f"  {line(seat)}{pressed} objects ({body['number']}): {said}"
        if body.get("checked"):
            yield "quiet", f"      it computed: {line(str(body['checked']), width)}"


def _comparison(seat: str, round_: int, body: Body, width: int) -> Iterator[StyledLine]:
    source = "" if body.get("source") == "helper" else f", {line(str(body.get('source')))}"
    likeness = f"{float(body.get('similarity', 0)):.2f} like objection {body.get('nearest')}"
    limit = f"duplicate from {float(body.get('threshold', 0)):.2f}{source}"
    if not body.get("duplicate"):
        yield "quiet", f"      new: {likeness} ({limit})"
        return
    yield "score", f"      duplicate: {likeness} ({limit})"
    yield "quiet", f"        now:    {line(str(body.get('objection', '')), _WIDE)}"
    yield "quiet", f"        before: {line(str(body.get('nearest_text', '')), _WIDE)}"


def unread(result: Result) -> bool:
    """Whether no language model had a part in the session."""
    used = result.usage
    return bool(used.calls) and not used.input_tokens + used.output_tokens


def counted(result: Result) -> Iterator[StyledLine]:
    """What confidence means where no language model had a part, beside how sure the answerer was."""
    given = [r["answer"].get("confidence") for r in result.rounds if r.get("answer")]
    if unread(result) and given and isinstance(given[-1], int | float):
        yield (
            "score",
            "The confidence is counted from the objections that are open. No language model judged the answer. "
            f"The answerer itself is {given[-1]:.2f} sure of it.",
        )


def untried(result: Result) -> Iterator[StyledLine]:
    """What confidence does not mean where a critic with a language model raised nothing and shows no check."""
    raised = [mapping(o) for r in result.rounds for o in items(r.get("raised"))]
    if raised and not unread(result) and not any(o.get("number") or o.get("checked") for o in raised):
        yield (
            "score",
            "The critic raised no objection and shows no check. So the confidence means that nothing was said against "
            "the answer, and not that the answer was tried.",
        )


def by_words(rounds: Sequence[Body]) -> Iterator[StyledLine]:
    """One warning where objections were compared by words because what was to do it failed."""
    comparisons = [c for r in rounds for c in r.get("comparisons") or ()]
    failed = [str(c["why"]) for c in comparisons if c.get("why")]
    if failed:
        reasons = "; ".join(line(why, _WIDE) for why in dict.fromkeys(failed))
        yield (
            "score",
            f"Warning: {len(failed)} of {len(comparisons)} objections were compared by words alone: {reasons}",
        )


def _pressed(seat: str, round_: int, body: Body, width: int) -> Iterator[StyledLine]:
    yield "score", f"  the critic is asked again, in a sharper tone: {line(str(body.get('why', '')), width)}"


def _judgement(seat: str, round_: int, body: Body, width: int) -> Iterator[StyledLine]:
    yield (
        "quiet",
        f"  {line(seat)}: {float(body.get('score', 0)):.0f} of 100; {line(str(body.get('comment', '')), width)}",
    )


def _swapped(seat: str, round_: int, body: Body, width: int) -> Iterator[StyledLine]:
    yield "quiet", f"  {line(seat)}, the opposite order: {float(body.get('score', 0)):.0f} of 100"


def _tally(seat: str, round_: int, body: Body, width: int) -> Iterator[StyledLine]:
    trend = " → ".join(f"{c:.0f}" for c in body.get("trend") or ())
    parts = [f"confidence {float(body.get('confidence', 0)):.0f} ({line(str(body.get('label')))})", f"trend {trend}"]
    if body.get("source") != "judge":
        parts.append(line(str(body.get("source"))))
    if body.get("answered"):
        parts.append(f"meets {named(body['answered'])}")
    if body.get("reopened"):
        parts.append(f"no longer meets {named(body['reopened'])}")
    if body.get("found") and _closed(body, body["found"]):
        parts.append(f"objection {body['found']} is new and has nothing to it, closed")
    elif body.get("found"):
        parts.append(f"objection {body['found']} is new, weight {float(body.get('weight', 0)):.2f}")
    bias = body.get("bias")
    if bias:
        parts.append(f"order makes a difference of {float(bias['difference']):+.0f}")
    if body.get("missing"):
        parts.append("missing: " + ", ".join(line(str(s)) for s in body["missing"]))
    yield "score", f"  round {round_}: " + ", ".join(parts)


def _closed(body: Body, number: int) -> bool:
    """Whether an objection was closed at once."""
    return any(o.get("number") == number and o.get("closed") for o in body.get("profile") or ())


def _verdict(seat: str, round_: int, body: Body, width: int) -> Iterator[StyledLine]:
    how = f", which {line(str(body['ruling']))} the answer" if body.get("ruling") else ""
    yield "quiet", f"  {line(seat)} writes the verdict{how}: {line(str(body.get('answer', '')), width)}"


POSTS: dict[str, Callable[[str, int, Body, int], Iterator[StyledLine]]] = {
    "question": _question,
    "answer": _answer,
    "objection": _objection,
    "comparison": _comparison,
    "pressed": _pressed,
    "judgement": _judgement,
    "judgement_swapped": _swapped,
    "tally": _tally,
    "verdict": _verdict,
}
"""Kind of post -> its lines: (seat, round, body, width)."""


def outcome_lines(outcome: Body) -> Iterator[StyledLine]:
    """What stands beside a verdict: what it does to the answer that was debated and what it assumes, the label and what
    it is worth, and the objections that are left."""
    yield from ruling_lines(outcome)
    yield "quiet", f"Label: {line(str(outcome.get('label')))} ({line(str(outcome.get('label_note')))})"
    objections = outcome.get("objections") or ()
    still = [o for o in objections if not o.get("answered")]
    yield "", f"Objections: {len(objections)}, of which {len(still) or 'none'} {'are' if len(still) > 1 else 'is'} open"
    for o in still:
        weight = o.get("weight")
        weight_words = "nobody judged its weight" if weight is None else f"weight {float(weight):.2f}"
        yield "quiet", f"  open, {o.get('number')} ({weight_words}): {line(str(o.get('text', '')), _WIDE)}"


RULED = {
    "narrows": "The verdict narrows the answer that was debated.",
    "reverses": (
        "The verdict reverses the answer that was debated. Confidence is that of the debated answer;"
        " nobody has attacked the one of the verdict."
    ),
}
"""What is said of a ruling; one that upholds goes without saying."""


def ruling_lines(outcome: Body) -> Iterator[StyledLine]:
    """What the verdict does to the answer that was debated, where that is not to uphold it, and what it assumes."""
    if outcome.get("departing"):
        yield "score", f"The verdict contradicts the debate and was not taken: {line(str(outcome['departing']), _WIDE)}"
        _, _, why = str(outcome.get("departs", "")).partition(": ")
        yield "quiet", f"  The judge was told: {line(why, _WIDE)}"
    if str(outcome.get("ruling")) in RULED:
        yield "score", RULED[str(outcome["ruling"])]
    for assumption in outcome.get("assumptions") or ():
        yield "", f"Assumes: {line(str(assumption), _WIDE)}"


def round_words(r: Body) -> Iterator[str]:
    """One round of a result."""
    confidence = r.get("confidence")
    how = "not judged" if confidence is None else f"confidence {confidence:g} of 100"
    source = "" if r.get("source") in (None, "judge") else f" ({line(str(r['source']))})"
    yield f"Round {r.get('round')}: {how}{source}."
    answer = r.get("answer") or {}
    if answer:
        yield f"  answer: {line(str(answer.get('answer')), 200)}"
    for one in answer.get("addresses") or ():
        yield f"    answers objection {one['objection']}: {line(str(one['how']), _WIDE)}"
    for said in r.get("raised") or ():
        yield f"  {_objected(said)}"
    for c in r.get("comparisons") or ():
        what = "a duplicate of" if c["duplicate"] else "nearest to"
        yield f"    {what} objection {c['nearest']}, {c['similarity']:.2f} ({line(str(c['source']))})"
        if c.get("why"):
            yield f"      by words alone: {line(str(c['why']), _WIDE)}"
    judged = r.get("judgement") or {}
    if judged:
        yield f"  judge: {float(judged.get('score', 0)):.0f} of 100; {line(str(judged.get('comment', '')), _WIDE)}"
    for name, words in (("answered", "objections newly met"), ("reopened", "objections no longer met")):
        if r.get(name):
            yield f"  {words}: {_numbers(r[name])}"
    for seat in r.get("missing") or ():
        yield f"  {line(str(seat))} was missing"


def _objected(said: Body) -> str:
    again = " (asked again)" if said.get("pressed") else ""
    if not said.get("number"):
        return f"no new objection{again}"
    return f"objection {said['number']}{again}: {line(str(said.get('objection')), _WIDE)}"


def _numbers(numbers: Any) -> str:
    return ", ".join(str(n) for n in numbers)


def named(numbers: Any) -> str:
    """`objection 1`, `objections 1, 2`."""
    return f"objection{'s' if len(numbers) > 1 else ''} {_numbers(numbers)}"
