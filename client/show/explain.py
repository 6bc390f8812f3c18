"""Why a session stopped, in words and figures, from what its log holds."""

from collections.abc import Iterator
from typing import Any

import msgspec

from bus.channels import CLIENTS, may_read
from client import records
from client.protocols.competition import story as competition_story
from client.protocols.competition import transcript as transcript_competition
from client.protocols.critic import transcript as transcript_critic
from client.protocols.maci import story as maci_story
from client.protocols.maci import transcript as transcript_maci
from client.protocols.madp import story as madp_story
from client.protocols.madp import transcript as transcript_madp
from client.records import Record
from client.show import transcript
from client.text import clean, count, line, plain
from client.turns import Turns
from schemas import log
from schemas.result import Result
from schemas.stops import STOPS


def figures(record: Record) -> dict[str, Any]:
    """Everything that the words rest on, as JSON values."""
    result = records.result_of(record)
    entries = records.entries_of(record)
    opened = records.opening(record)
    invited = (c.seat for e in entries for c in e.commands if isinstance(c, log.Invite))
    seats = (*opened.seats, *invited)
    row = STOPS.get(result.stop.reason) if result else None
    return {
        "session": record.sid,
        "protocol": opened.protocol,
        "question": opened.question,
        "settings": opened.settings,
        "seats": [{"seat": s.seat, "role": s.role, "weight": s.weight, "model": s.model} for s in seats],
        "transitions": len(entries),
        "open": result is None,
        "stop": None if result is None else msgspec.to_builtins(result.stop),
        "words": row.words if row else "",
        "status": result.status if result else "open",
        "outcome": result.outcome if result else None,
        "rounds": [_round(r) if result.protocol == "consensus" else r for r in result.rounds] if result else [],
        "failures": Turns(entries, lambda channel: may_read(CLIENTS, channel), sid=record.sid).failures,
        "usage": msgspec.to_builtins(result.usage) if result else None,
        "duration_s": result.duration_s if result else (entries[-1].at_ns - entries[0].at_ns) / 1e9,
        **({"trace": records.trace(record)} if opened.protocol == "madp" else {}),
    }


def _round(r: dict[str, Any]) -> dict[str, Any]:
    positions = r.get("positions") or {}
    return {
        "round": r.get("round"),
        "score": r.get("score"),
        "band": r.get("band"),
        "direction": r.get("direction"),
        "source": r.get("source"),
        "key_disagreements": r.get("key_disagreements") or [],
        "changes": {seat: p.get("change") for seat, p in positions.items() if p.get("change") not in (None, "kept")},
        "flips_without_evidence": [seat for seat, p in positions.items() if p.get("flip_without_evidence")],
        "missing": r.get("missing") or [],
    }


def words(record: Record) -> Iterator[str]:
    """The explanation in lines."""
    found = figures(record)
    result = records.result_of(record)
    yield f"Session {line(record.sid)}, {line(found['protocol'])}: {line(found['question'], 200)}"
    if result is None:
        yield f"It is still open after {found['transitions']} transitions."
        yield from _maci(record)
        yield from _madp(record)
        yield from map(_failure, found["failures"])
        return
    yield f"It ended with status {line(result.status)}: {transcript.stop_words(result)}."
    yield f"Converged: {'yes' if result.stop.converged else 'no'}."
    yield from _certificate(result)
    yield from _maci(record)
    yield from _madp(record)
    for r in found["rounds"] if result.protocol != "maci" else ():
        yield from _told(r, record)
    yield from map(_failure, found["failures"])
    story = competition_story.fold(records.seen(record).story(), records.posts_of(record))
    answer = transcript.answer_of(result, story)
    kind = "Verdict" if transcript_competition.is_outcome(result.outcome) else "Answer"
    yield f"{kind}: {clean(answer)}" if answer else "There is no answer."
    for other in result.outcome.get("minority") or ():
        yield f"Minority: {line(other['seat'])} held {line(other['answer'], 300)}."
    if "first_round_majority" in result.outcome:
        first = result.outcome["first_round_majority"]
        yield f"First round's plain majority: {line(first, 300)}." if first else "The first round had no majority."
    for _, text in transcript.beside(result.outcome, story):
        yield text
    yield f"Used: {transcript.usage_words(result)}."
    for seat, used in result.usage.by_seat.items():
        tokens = used.input_tokens + used.output_tokens
        turns, calls = count(used.turns, "turn"), count(used.calls, "call")
        yield f"  {line(seat)}: {turns}, {calls}, {tokens:,} tokens, {used.cost_usd:.4f} USD"


def _failure(found: dict[str, Any]) -> str:
    """One attempt at a turn that was no good."""
    who = ""
    if "seat" in found:
        attempt = f", attempt {found['attempt']}" if found["attempt"] > 1 or not found["last"] else ""
        end = ", nothing came of it" if found["last"] else ""
        who = f"{line(found['seat'])}, round {found['round']} ({line(found['kind'])}{attempt}{end}): "
    return f"Transition {found['transition']}: {who}{line(str(found['why']), 300).rstrip('.')}."


def _certificate(result: Result) -> Iterator[str]:
    certificate = result.stop.certificate
    if "stops" in certificate:
        yield from transcript_maci.certificate_words(certificate)
        return
    score, threshold = certificate.get("score"), certificate.get("threshold")
    if score is not None and threshold is not None:
        relation = "reached" if score >= threshold else "is below"
        band = line(str(certificate.get("band")))
        yield f"The last score, {score:g} ({band}), {relation} the threshold of {threshold:g}."
    trend = certificate.get("trend") or []
    if trend:
        yield "Scores by round: " + " → ".join(f"{s:g}" for s in trend) + "."
    shown = {"trend", "score", "band", *(("threshold",) if score is not None else ())}
    for name, value in certificate.items():
        if name not in shown and value not in (None, "", [], {}, ()):
            shown_value = transcript.limit_words(plain(value)) if name == "what" else plain(value)
            yield f"  {line(name)}: {line(shown_value, 300)}"


def _maci(record: Record) -> Iterator[str]:
    found = maci_story.story(records.posts_of(record))
    if found.rounds:
        yield from transcript_maci.explained(found)


def _madp(record: Record) -> Iterator[str]:
    found = madp_story.Story(records.posts_of(record))
    if found.task is not None:
        yield "Coordination:"
        yield from transcript_madp.explained(found)
        yield from transcript_madp.trace_words(records.trace(record))
        if found.steps:
            yield "Tools, support and reviews:"
            yield from transcript_madp.steps_words(found)


def _told(r: dict[str, Any], record: Record) -> Iterator[str]:
    if "verdicts" in r:
        return transcript_madp.round_words(r)
    if "speeches" in r:
        post = r.get("summary_post")  # the result, which debaters read, has its number alone
        summary = msgspec.json.decode(records.posts_of(record)[post].body)["text"] if post is not None else ""
        return transcript_competition.stage_words({**r, "summary": summary})
    return transcript_critic.round_words(r) if "raised" in r else _round_words(r)


def _round_words(r: dict[str, Any]) -> Iterator[str]:
    if r["score"] is None:
        yield f"Round {r['round']}: not scored."
    else:
        source = "" if r["source"] == "analyst" else f", {line(str(r['source']))}"
        yield f"Round {r['round']}: {r['score']:g} ({line(str(r['band']))}{source}), {line(str(r['direction']))}."
    for seat, change in r["changes"].items():
        bare = " without new evidence" if seat in r["flips_without_evidence"] else ""
        yield f"  {line(seat)}: {line(str(change))}{bare}"
    for seat in r["missing"]:
        yield f"  {line(str(seat))} gave no position"
    for disagreement in r["key_disagreements"]:
        yield f"  disagreement: {line(str(disagreement), 300)}"
