"""madp: what a task leaves to later ones in the same folder: short notes of what was proved in it. No model is asked
for them: what was found and mended stands in the posts (docs/experts.md)."""

import re
from collections.abc import Iterator

import msgspec

from parley.coordinator.protocols.madp.evidence.diffs import main_change
from parley.coordinator.protocols.madp.state import INBOX, State, body_of
from parley.coordinator.table import View
from parley.schemas.folders.notes import MOST_NOTES, MOST_PLACE, MOST_TEXT, Kind, Note, line_mark, may_be_secret
from parley.schemas.protocols.madp.messages import Answered, Deliberated, Reviewed
from parley.schemas.protocols.madp.work import Checked, Evidence, Finding, Work
from parley.schemas.tools import PASSED
from parley.schemas.wire import decode

_MOST_DECIDED, _MOST_FINDINGS = 2, 3
_HALF = 145
"""Characters of each part of a note that has two."""
_SENTENCE = re.compile(r".+?(?:[.!?](?=\s|$)|$)")
_ABSENT = ("exit 126", "exit 127", "not run")
"""How a command ends that is not there, or may not run."""
_KINDS: dict[str, Kind] = {"critical": "pitfall", "major": "pitfall", "minor": "convention"}
_WEIGHTS = tuple(_KINDS)
replace = msgspec.structs.replace


def lessons(s: State, v: View, work: Work, diff: str, record: Evidence) -> tuple[Note, ...]:
    """Notes of a task whose work is done: what people decided, what reviews and the check found and what mended it,
    which command runs, and what the work is. `work`: without what the machine did not see."""
    if not work.performed:
        return ()
    file, line = main_change(diff)
    did = replace(_note("decision", work.summary, s.lead, file), line=line_mark(line) if line else "")
    notes = (*_decided(s, v), *_found(s, v, record), *_red(s, v, file), *_commands(record), did)
    open_ = [note for note in notes if not may_be_secret(note.text, note.file, note.command)]
    return tuple(replace(note, n=n) for n, note in enumerate(open_[:MOST_NOTES], 1))


def _decided(s: State, v: View) -> list[Note]:
    """What a person, or a deliberation, decided of what blocked the work; and what a person asked for in a review."""
    items, asked, decided = {i.id: i for i in s.items}, "", list[Note]()
    for post in v.posts:
        if post.kind == "answered" and post.channel == INBOX:
            said = decode(post.body, Answered)
            item = items[said.id]
            if item.kind == "blocked" and said.author:
                decided.append(_answer(item.question, said.choice, said.author))
            elif item.kind == "review_limit" and said.author and said.note:
                decided.append(_note("decision", said.note, said.author))
        elif post.kind == "deliberation":
            child = decode(post.body, Deliberated)
            asked, answer = child.question or asked, child.result.get("answer")
            if child.status == "finished" and isinstance(answer, str) and answer:
                decided.append(_answer(asked, answer, child.protocol))
    return decided[-_MOST_DECIDED:]


def _answer(question: str, answer: str, by: str) -> Note:
    return _note("decision", f"{_short(question, _HALF)} Decided: {_short(answer, _HALF)}", by)


def _found(s: State, v: View, record: Evidence) -> Iterator[Note]:
    """Findings of reviews that the work after them answered: the weightiest first. What the last reviews still say is
    not answered."""
    assert s.work is not None, "the work is done"
    last = {n for n in (s.rounds[-1].reviews.values() if s.rounds else ()) if n < len(v.posts)}
    said = {f.description for n in last for f in body_of(v, n, Reviewed).findings}
    found: list[tuple[Finding, str]] = []
    for post in v.posts[: s.work]:
        if post.kind == "review":
            review = decode(post.body, Reviewed)
            found += [(f, review.reviewer_id) for f in review.findings if f.severity in _KINDS]
    found = sorted((x for x in found if x[0].description not in said), key=lambda x: _WEIGHTS.index(x[0].severity))
    for finding, reviewer in found[:_MOST_FINDINGS]:
        right = f" Right: {_short(finding.suggested_fix, _HALF)}" if finding.suggested_fix else ""
        text = f"{_short(finding.description, _HALF if right else MOST_TEXT)}{right}"
        yield _note(_KINDS[finding.severity], text, reviewer, _file_of(finding.location, record))


def _file_of(location: str, record: Evidence) -> str:
    """The file that a location names, as the machine saw it if it did; empty: it names none."""
    named = location.partition(":")[0].strip()
    seen = (path for path in (*record.written, *record.read) if path == named or path.endswith(f"/{named}"))
    return next(seen, "" if re.search(r"\s", named) else named) if named else ""


def _red(s: State, v: View, file: str) -> Iterator[Note]:
    """The check failed after some work, and succeeded in the end: which work mended it."""
    red: Checked | None = None
    mended: Work | None = None
    green = False
    for post in v.posts:
        if post.kind == "checked" and (run := decode(post.body, Checked)).when == "after":
            red, mended, green = (run, None, False) if run.ran and not run.green else (red, mended, run.green)
        elif post.kind == "work":
            mended = mended or (decode(post.body, Work) if red is not None else None)
    if red is not None and mended is not None and green:
        failed = f" ({', '.join(red.failed[:2])})"[:120] if red.failed else ""
        text = f"A change failed the check{failed} at first. What mended it: {_short(mended.summary, _HALF)}"
        yield _note("pitfall", text, s.lead, file, red.command)


def _commands(record: Evidence) -> Iterator[Note]:
    """A command that does not run here, and one of the same words that does."""
    for n, ran in enumerate(record.commands):
        names = set(re.findall(r"\w{4,}", ran.command))
        works = (
            c for c in record.commands[n + 1 :] if c.ended == PASSED and names & set(re.findall(r"\w+", c.command))
        )
        if ran.ended.startswith(_ABSENT) and (other := next(works, None)):
            text = f"`{ran.command[:100]}` does not run here ({ran.ended[:60]}); `{other.command[:100]}` does."
            yield _note("pitfall", text, ran.by, command=other.command)
            return


def _note(kind: Kind, text: str, by: str, file: str = "", command: str = "") -> Note:
    return Note(
        n=1, kind=kind, text=_short(text), by=by[:MOST_PLACE], file=file[:MOST_PLACE], command=command[:MOST_PLACE]
    )


def _short(text: str, most: int = MOST_TEXT) -> str:
    """As many of a text's sentences as there is room for, on one line; of the first one as much."""
    rows = _SENTENCE.findall(" ".join(text.split()))
    short = ""
    for sentence in rows:
        if len(short) + len(sentence) > most:
            break
        short += sentence
    return short.strip() or f"{' '.join(rows)[: most - 1].strip()}…"
