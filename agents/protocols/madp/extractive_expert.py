"""An expert without a language model: it quotes the documents that bear on its task, or says what it would do, from
its specification, and that no language model was at work. It changes no file, so it never says that it did the work.

Claims and challenges stay as the specifications declare them. A review finds formal faults of a change, and else
gives no verdict: it cannot judge whether work is right.
"""

from collections.abc import Sequence

from parley.agents.context import Shown
from parley.agents.model.base import ModelRefused
from parley.agents.model.injection import is_instruction, suspicious
from parley.agents.retrieval.bm25 import relevance
from parley.agents.retrieval.corpus import Corpus, Sentence, stems
from parley.schemas.expert import ExpertSpec
from parley.schemas.protocols.madp.messages import Worded, WordsBrief
from parley.schemas.protocols.madp.work import Finding, Review, ReviewBrief, Support, SupportBrief, Work, WorkBrief
from parley.schemas.routing import Task

HERE = "no language model is here"
MOST_QUOTED = 8
LEAST = 0.35
"""Relevance (1: the most relevant sentence) from which a sentence is quoted."""
LEAST_WORDS = 2
"""Words of meaning that it shares with the task; one where the task has no more."""
ANSWERED = 0.5
"""Share of a finding's words of meaning that the work repeats, from which it counts as answered."""


def words(shown: Shown, corpus: Corpus) -> tuple[Worded, bool]:
    """(what was declared, as it was; whether something that was read talks to its reader as to a machine)."""
    brief: WordsBrief = shown.brief
    texts = (*(c.claim for c in brief.claims), *(c.reason for c in brief.challenges))
    return Worded(challenges=brief.challenges), suspicious((*_texts(brief.task), *texts))


def work(shown: Shown, corpus: Corpus) -> tuple[Work, bool]:
    """(the work, whether something that was read talks to its reader as to a machine)."""
    brief: WorkBrief = shown.brief
    quotes = _quoted(shown, f"{brief.task.prompt} {brief.responsibility} {brief.advice}", corpus)
    injected = suspicious(
        (
            *_texts(brief.task),
            *(d.text for d in shown.documents),
            *(x for s in brief.supported for x in (s.output, s.diff)),
        )
    )
    lines = _lines(quotes) if quotes else _plan(brief.responsibility, brief.task, shown.expert)
    for support in brief.supported:
        lines += ["", f"{support.agent_id} gave back, for: {_one_line(support.sub_task)}", _one_line(support.output)]
    if brief.findings:
        lines += ["", f"Findings of the last review. None is acted on, because {HERE}:"]
        lines += [
            f"- {_one_line(f.description)}" + (f" ({_one_line(f.location)})" if f.location else "")
            for f in brief.findings
        ]
    return Work(outcome="done", summary=_summary(quotes), output=_output(lines), performed=False), injected


def support(shown: Shown, corpus: Corpus) -> tuple[Support, bool]:
    """(the sub-task's result, whether something that was read talks to its reader as to a machine)."""
    brief: SupportBrief = shown.brief
    quotes = _quoted(shown, brief.sub_task, corpus)
    lines = _lines(quotes) if quotes else _plan(brief.sub_task, brief.task, shown.expert)
    injected = suspicious((*_texts(brief.task), brief.sub_task, *(d.text for d in shown.documents)))
    return Support(summary=_summary(quotes), output=_output(lines)), injected


def _quoted(shown: Shown, about: str, corpus: Corpus) -> list[tuple[str, Sentence]]:
    """(document, sentence) of those that bear on it, the most relevant first; never one that gives orders."""
    texts = [
        (d.name, s) for d in shown.documents for s in corpus.text(d).sentences if s.stems and not is_instruction(s.text)
    ]
    query = list(dict.fromkeys(stems(about)))
    scores = relevance(query, [[*s.stems, *s.context] for _, s in texts])
    least = min(LEAST_WORDS, len(query))
    ranked = sorted(range(len(texts)), key=lambda i: (-scores[i], i))
    quotes: dict[str, tuple[str, Sentence]] = {}
    for i in ranked:
        if scores[i] < LEAST or len(quotes) == MOST_QUOTED:
            break
        shared = set(texts[i][1].stems) & set(query)
        if shared and len(shared | set(texts[i][1].context) & set(query)) >= least:
            quotes.setdefault(texts[i][1].text, texts[i])
    return list(quotes.values())


def _summary(quotes: Sequence[tuple[str, Sentence]]) -> str:
    if quotes:
        names = len({name for name, _ in quotes})
        return (
            f"{len(quotes)} sentences of {names} documents bear on it and are quoted; {HERE}, so nothing was changed."
        )
    return f"A plan from the specification: {HERE}, and no document answers the task, so nothing was done."


def _lines(quotes: Sequence[tuple[str, Sentence]]) -> list[str]:
    lines = [f"What the documents say about it, quoted ({HERE}: nothing beyond the quotations is claimed):", ""]
    return lines + [f'- "{s.text}" ({_one_line(name)})' for name, s in quotes]


def _plan(part: str, task: Task, spec: ExpertSpec | None) -> list[str]:
    who = "An expert" if spec is None else spec.name
    lines = [f"Nothing was done: {HERE}. This is what would be done.", "", f"{who} would take: {_one_line(part)}"]
    if task.files_mentioned:
        lines += ["", "Files to look at:", *(f"- {_one_line(name)}" for name in task.files_mentioned)]
    if spec is not None:
        lines += ["", "What it owns, and would go through:", *(f"- {_one_line(what)}" for what in spec.domain.owns)]
        if spec.deliberation.handoff_when:
            lines += ["", "When it would hand over:", *(f"- {_one_line(w)}" for w in spec.deliberation.handoff_when)]
    return lines


def review(shown: Shown, corpus: Corpus) -> tuple[Review, bool]:
    """(the review, whether something that was read talks to its reader as to a machine). Raises ModelRefused where
    there is no formal fault: that a change is right is not for it to say."""
    brief: ReviewBrief = shown.brief
    faults = _faults(brief) if brief.diff.strip() else []
    if not faults:
        raise ModelRefused(f"{HERE}: nobody judged whether it is right")
    result = Review(verdict="revision_needed", findings=tuple(faults[:40]))
    return result, suspicious((*_texts(brief.task), brief.summary, brief.output, brief.diff))


def _faults(brief: ReviewBrief) -> list[Finding]:
    """Does it speak of the files that the task names, and answer the review before?"""
    work = "\n".join((brief.summary, brief.output, brief.diff))
    findings = []
    silent = [f for f in brief.task.files_mentioned if f not in work and f.rpartition("/")[2] not in work]
    if silent:
        said_of = f"The work says nothing of files that the task names: {', '.join(silent[:20])}"[:4_000]
        fix = "Change them, or say why not."
        findings.append(Finding(severity="major", description=said_of, suggested_fix=fix))
    work_stems = set(stems(work))
    for f in brief.findings:
        about = set(stems(f.description))
        if f.severity in ("critical", "major") and about and len(about & work_stems) < ANSWERED * len(about):
            findings.append(
                Finding(
                    severity="major", location=f.location, suggested_fix=f.suggested_fix,
                    description=f"A finding of the review before is not answered: {f.description}"[:4_000],
                )
            )  # fmt: skip
    return findings


def _texts(task: Task) -> tuple[str, ...]:
    return (task.prompt, *task.code_snippets, *(m.text for m in task.prior_conversation))


def _one_line(text: str) -> str:
    """Somebody's words in one line; those that give orders to a machine are left out."""
    line = " ".join(text.split())
    return "(left out: it talks to its reader as to a machine)" if suspicious((text,)) else line[:4_000]


def _output(lines: Sequence[str]) -> str:
    return "\n".join(lines)[:60_000]
