"""`python -m parley_research extractive`: how often the extractive model is right, wrong or silent.

Each question is a consensus session as `parley ask --protocol consensus --evidence` plays it, in one process: documents
are dealt by the moderator, three seats and an analyst answer, and an answer counts where the session ends with exit
status 0. Wrong is an answer that the gold does not bear out, and any answer to a question without one.

    --questions FILE   lines of research/parley_research/questions: documents (`document`, `text`), then questions
    --xquad FILE       questions over single paragraphs, each asked once of its own paragraph and once of another of the
                       same article that does not hold the answer; `--half dev` is the first half of its articles
"""

import argparse
import asyncio
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from parley.agents.models.extractive import Extractive
from parley.agents.retrieval.corpus import cut, stems
from parley.agents.show_turn import show
from parley.coordinator.admission import admit
from parley.coordinator.machine import begin, step
from parley.coordinator.protocols import PROTOCOLS
from parley.schemas import log
from parley.schemas.presence import Announcement
from parley.schemas.result import Result
from parley.schemas.session import Document, OpenSession
from parley.schemas.stops import STOPS
from parley.schemas.turn import DocumentRef, ShownPost, Turn, Work
from parley.schemas.wire import decode
from parley_research import statistics

PANEL = 3
BASELINE_FLOOR = 0.6
"""Share of the question's weight from which the baseline answers."""


@dataclass(frozen=True)
class Asked:
    """A question, its documents (name, text), and what a right answer holds."""

    id: str
    kind: str
    question: str
    documents: tuple[tuple[str, str], ...]
    gold: tuple[tuple[str, ...], ...] = ()
    """Alternatives, each of texts that must all stand in the answer; none: there is no answer."""
    options: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    group: str = ""
    """What its document is of."""


def own(file: Path) -> Iterator[Asked]:
    """Questions of a file of research/parley_research/questions."""
    by_name: dict[str, str] = {}
    for line in file.read_bytes().splitlines():
        q = json.loads(line)
        if "document" in q:
            by_name[q["document"]] = q["text"]
            continue
        texts = tuple((name, by_name[name]) for name in q["documents"])
        gold = tuple(map(tuple, q["gold"])) if q["answerable"] else ()
        yield Asked(q["id"], q["kind"], q["question"], texts, gold, tuple(q["options"]), tuple(q["never"]))


def xquad(file: Path, half: str) -> Iterator[Asked]:
    """Questions of one half of the articles of a file in the form of SQuAD."""
    articles = json.loads(file.read_text(encoding="utf-8"))["data"]
    middle = len(articles) // 2
    for article in articles[:middle] if half == "dev" else articles[middle:]:
        texts = [p["context"] for p in article["paragraphs"]]
        group = texts[0][:40]
        for i, paragraph in enumerate(article["paragraphs"]):
            for q in paragraph["qas"]:
                gold = tuple((a["text"],) for a in q["answers"])
                yield Asked(q["id"], "own paragraph", q["question"], (("paragraph.md", texts[i]),), gold, group=group)
                others = texts[i + 1 :] + texts[:i]
                other = next((t for t in others if not any(folded(g) in folded(t) for (g,) in gold)), None)
                if other is not None:
                    yield Asked(q["id"], "other paragraph", q["question"], (("paragraph.md", other),), group=group)


def folded(text: str) -> str:
    """Case and white space folded."""
    return " ".join(text.casefold().split())


def verdict(asked: Asked, answer: str) -> str:
    """right | wrong | abstained."""
    said = folded(answer)
    if not said:
        return "abstained"
    if not asked.gold or any(folded(n) in said for n in asked.never):
        return "wrong"
    if asked.kind == "yesno" or asked.options:
        head = re.sub(r"^(?:the|an?) ", "", said)
        ok = any(re.match(rf"{re.escape(folded(g[0]))}\b", head) for g in asked.gold)
    else:
        ok = any(all(folded(s) in said for s in g) for g in asked.gold)
    return "right" if ok else "wrong"


# ---------------------------------------------------------------- who answers


def baseline(asked: Asked) -> str:
    """The sentence that has most of the question's words, weighted by rarity, if it has enough of them."""
    sentences = [s for _, text in asked.documents for s in cut(text).sentences]
    terms = set(stems(asked.question))
    have = [terms & set(s.stems) for s in sentences]
    weight = {t: math.log(1 + (1 + len(have)) / (1 + sum(t in h for h in have))) for t in terms}
    shares = [sum(weight[t] for t in h) / max(1e-9, sum(weight.values())) for h in have]
    best = max(range(len(sentences)), key=lambda i: shares[i], default=-1)
    return sentences[best].text if best >= 0 and shares[best] >= BASELINE_FLOOR else ""


def session(model: Extractive) -> Callable[[Asked], str]:
    """What a consensus session with this model answers; nothing where it settles none."""

    def answer(asked: Asked) -> str:
        result = asyncio.run(_played(asked, model))
        settled = not STOPS[result.stop.reason].exit_status(result.stop.converged)
        return str(result.outcome["answer"]) if settled else ""

    return answer


async def _played(asked: Asked, model: Extractive) -> Result:
    protocol = PROTOCOLS["consensus"]
    seats = [(f"panelist_{i}", "panelist") for i in range(1, PANEL + 1)] + [("analyst", "analyst")]
    workers = tuple(
        Announcement(instance=q, queue=q, roles=(role,), model="extractive", family="extractive", metered=False)
        for q, role in seats
    )
    documents = tuple(
        Document(id=sha256(t.encode()).hexdigest(), name=n, text=t, holders=()) for n, t in asked.documents
    )
    request = OpenSession(question=asked.question, protocol="consensus", settings={}, documents=documents)
    opened = admit(protocol, request, workers, 1, "evaluation")
    state, _ = begin(protocol, "s", opened, 1)
    at = 1
    while not state.closed:
        for turn in list(state.turns.values()):
            if turn.id not in state.turns:
                continue
            at += 1
            done = await model.reply(_shown(state, turn), lambda text: None)
            said = log.Replied(turn=turn.id, body=done.json(), usage=done.usage, flags=done.flags)
            state, _ = step(protocol, state, said, at)
    return decode(next(p for p in reversed(state.posts) if p.kind == "closed").body, Result)


def _shown(state: Any, turn: Any) -> Any:
    ask = turn.ask
    wanted = [*ask.sees, *([] if ask.own is None else [ask.own])]
    posts = tuple(
        ShownPost(n=p.n, channel=p.channel, kind=p.kind, round=p.round, body=p.body)
        for p in state.posts if p.n in wanted
    )  # fmt: skip
    held = [d for d in state.opened.documents if ask.seat in d.holders]
    asked_turn = Turn(
        id=turn.id, token="t", seat=ask.seat, role="analyst" if ask.seat == "analyst" else "panelist", kind=ask.kind,
        brief=ask.brief, sees=ask.sees, own=ask.own, documents=tuple(DocumentRef(id=d.id, name=d.name) for d in held),
        deadline_ns=ask.deadline_ns, caps=ask.caps, attempt=ask.attempt, error=ask.error,
    )  # fmt: skip
    work = Work(
        session=state.sid, protocol=state.opened.protocol, question=state.opened.question, round=ask.round,
        channel="public", lane="any", decided_ns=1, posts=posts, turns=(asked_turn,),
    )  # fmt: skip
    return show(work, asked_turn, held)


# ---------------------------------------------------------------- what it comes to


def wilson(part: int, whole: int) -> tuple[float, float]:
    """The 95 % around a share; of nothing none."""
    around = statistics.wilson(part, whole)
    return (around.low, around.high) if whole else (0.0, 0.0)


def table(questions: Sequence[Asked], verdicts: Sequence[str]) -> list[dict[str, Any]]:
    """Per kind, and of all: how many, right of the answerable, wrong and abstained of all."""
    rows = []
    for kind in [*sorted({q.kind for q in questions}), "all"]:
        mine = [(q, v) for q, v in zip(questions, verdicts, strict=True) if kind in (q.kind, "all")]
        count = Counter(v for _, v in mine)
        answerable = sum(bool(q.gold) for q, _ in mine)
        silent = sum(v == "abstained" and not q.gold for q, v in mine)
        rows.append(
            {
                "kind": kind, "questions": len(mine), "answerable": answerable, "right": count["right"],
                "right_interval": wilson(count["right"], answerable), "wrong": count["wrong"],
                "wrong_interval": wilson(count["wrong"], len(mine)), "abstained": count["abstained"],
                "abstained_rightly": silent,
            }
        )  # fmt: skip
    return rows


def _printed(name: str, rows: Sequence[dict[str, Any]]) -> str:
    lines = [f"{name}:", "", "| kind | questions | answerable | right | wrong | abstained | of them rightly |",
             "|---|---|---|---|---|---|---|"]  # fmt: skip
    for r in rows:
        right = f"{r['right']} ({_share(r['right'], r['answerable'], r['right_interval'])})" if r["answerable"] else "-"
        wrong = f"{r['wrong']} ({_share(r['wrong'], r['questions'], r['wrong_interval'])})"
        lines.append(
            f"| {r['kind']} | {r['questions']} | {r['answerable']} | {right} | {wrong} | {r['abstained']} | "
            f"{r['abstained_rightly']} |"
        )
    return "\n".join(lines)


def _share(part: int, whole: int, interval: tuple[float, float]) -> str:
    return f"{part / whole:.0%}, {interval[0]:.0%} to {interval[1]:.0%}"


def main(arguments: Sequence[str]) -> int:
    """Print the table of the model and of the baseline; the answers too with --json."""
    parser = argparse.ArgumentParser(prog="python -m parley_research extractive", description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=Path, metavar="FILE")
    parser.add_argument("--xquad", type=Path, metavar="FILE", help="xquad_en/first_half.json")
    parser.add_argument("--half", choices=("dev", "test"), default="dev")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    if (options.questions is None) == (options.xquad is None):
        parser.error("give --questions or --xquad")
    try:
        questions = list(own(options.questions) if options.questions else xquad(options.xquad, options.half))
    except (OSError, ValueError, KeyError) as error:
        print(f"cannot read the questions: {error}", file=sys.stderr)
        return 2
    by_name = {}
    for name, answering in (("extractive model", session(Extractive())), ("baseline", baseline)):
        answers = [answering(q) for q in questions]
        by_name[name] = (answers, table(questions, [verdict(q, a) for q, a in zip(questions, answers, strict=True)]))
    if options.json:
        document = {
            name: {
                "table": rows,
                "answers": [
                    {"id": q.id, "kind": q.kind, "verdict": verdict(q, a), "answer": a}
                    for q, a in zip(questions, answers, strict=True)
                ],
            }
            for name, (answers, rows) in by_name.items()
        }
        print(json.dumps(document, ensure_ascii=False, indent=1))
    else:
        print("\n\n".join(_printed(name, rows) for name, (_, rows) in by_name.items()))
    return 0
