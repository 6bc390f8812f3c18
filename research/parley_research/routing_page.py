"""Reports of routing as a page: docs/routing.md, made of the figures alone."""

from collections.abc import Callable, Sequence
from textwrap import fill

from parley.schemas.routing import DEPTHS
from parley_research.first_look import table
from parley_research.routing import Report, Share, confused
from parley_research.routing_registries import FROZEN, LARGE, LEFT_OUT

_MOST = 12
"""Pairs of the confusion that are shown."""

_HEAD = """# How well tasks find their experts

`make routing` (`parley eval routing --data DIR --page FILE`) writes this page. Do not edit it by hand. `parley eval
routing` prints the same figures.

A task is routed right if its lead is one of the experts that may lead it. If no expert should lead it, the matcher is
right to abstain. A general-purpose expert counts as no expert. Intervals are Wilson's, 95 %.

The tables compare these matchers (agents/matching):

- `words` is the source's own score (seeds/madp.md 3.3). It is the baseline.
- `better, by words` and `better` are the matcher that sessions use, without and with the shipped reader, before experts
  claim tasks.
- `better, after claims` is the result after experts have claimed and challenged, as `parley route` shows it. Support
  and depth are known only then.
- `better, asked below 0.8` is the result with a language model in the helper's seat. The model is asked if the better
  matcher is not sure, or finds no expert (docs/decisions/0015). The replies of one model were recorded, and are used as
  the helper uses them (`research/parley_research/golden/README.md` says how they were made). Another model may do
  worse.

The columns are:

- *abstains rightly*: of the tasks without a lead, the share that should have no lead (precision)
- *finds nobody's*: of the tasks that should have no lead, the share without a lead (recall)
- *support found*: of the experts that a set names as support of tasks with a lead, the share that takes part
- *calibration*: expected calibration error, over ten bins of confidence

## How the matcher works

First the matcher cleans the prompt. It removes text that would steer the router, and text about what the task does not
want. It also corrects misspelt words. A linear model over the words then predicts the subject of software work. If the
model is not sure, the reader predicts the subject too. The reader is a small language model in this process. It also
computes the task's vector, which is compared with all phrases of the specifications.

The same models read each specification and decide which subjects belong to the expert. So the matcher finds your own
expert even by words that are not in its specification. `domain.owns` and `triggers.examples` help most. The weights
belong to such features and never to an expert's name. These models know only software.

If the experts do not differ by subjects of software, the ranking decides (agents/matching/ranking.py):

- It compares the task's vector, its words and parts of its words with each phrase of each specification. The vector
  comes from an encoder of its own (agents/matching/task_encoder.py), which was trained on invented registries of many
  fields. In its space a task is near the phrases of its lead's specification.
- It computes how much nearer the task is than tasks of other fields are. A phrase that is near to every task says
  little.
- It computes how near the registry's own examples are to each other, because tasks are about as near. If each expert
  has twenty examples or more, a task that is further away than 98 of 100 of them belongs to no expert.
- With many experts, some expert is near to any task. So with each expert beyond twelve, a task must be nearer.
- If other experts leave a task to an expert, the expert ranks higher.

The vectors of a specification are computed once, when the matcher first meets it.

The depth of the coordination depends on the number of candidates and on how sure they are, by the source's rule 4.1.
The wording of a task and its vector show whether it needs several experts (agents/matching/several.py). If it does, two
experts are candidates beside the lead. If one expert is enough, there are none. This was fitted on the training tasks.
It applies if the experts differ by subject.

A few rules look at the task's verb (agents/matching/verbs.py). "Fix the failing tests" goes to the expert for repairs.
"Improve performance" does not say what is slow. So the expert for measurements leads, and the experts deliberate. They
also deliberate on "redesign the data layer". "Write a test for this function" is a small task: one expert beside the
lead is enough. "Add JWT auth" has two experts beside the lead.

The matcher reads English. It abstains on a task that is clearly in another language (agents/matching/language.py). A
language model in the helper's seat may then be asked. The invented registries have 36 prompts in other languages, and
the matcher recognises 35 of them. It takes none of the 835 English prompts for another language.
"""


def _unseen() -> str:
    figures = LEFT_OUT.read_text(encoding="utf-8")
    read = figures.split("\nwords:")[0]
    return f"""## Registries that the ranking was not fitted on

The encoder is trained on 67 invented registries with 3,237 English prompts
(`research/parley_research/registries/train`, `train_more` and `train_hard`): `python -m
parley_research.training.encoder` says how. The ranking is fitted on 14 others with 840 prompts (`fit`), which the
encoder has not seen. It is fitted on 13 of them and measured on the one that is left out, 14 times. Every prompt is
ranked with the encoder, as if the experts did not differ by subject. The line `all registries` is the figure of all.
The figures of each registry follow, then those of each kind of prompt. `python -m parley_research.fit_ranking
--figures research/parley_research/registries/{LEFT_OUT.name}` fits and prints this. With the plain encoder in place of
the trained one it is 61.1 %. The features were chosen by these figures: a registry that nobody has seen may do a
little worse.

```
{read}
```

The target of 85 % is missed. Most of the missed prompts use other words than the specification. They need knowledge of
the field that a small encoder does not have. [Decision 32](decisions/0032-an-encoder-trained-for-tasks.md) says what
was tried, and what a larger encoder would bring.

The next figures were used to fit abstention. Their registries combine several invented ones. Prompts of all other
registries count as tasks for no expert, though some of them do fit an expert, because fields overlap. By words alone,
the matcher refuses hardly any task.

```
{LARGE.read_text(encoding="utf-8").rstrip()}
```

`python -m parley_research.routing_speed` measures how long a match takes.

## Registries that were never seen before

{FROZEN.read_text(encoding="utf-8").rstrip()}
"""


DEPTH_NOTE = """\
The target of 85 % for depth is missed. On the development half the matcher agrees for 89 %, but that half is labelled
in another way. It does not separate instant from quick, or standard from extended, and no task has to be quick or
standard. So three differences could not be fitted: whether an expert works alone or with one other, standard or
extended, and when only standard is right. The other misses have two causes: the lead is unsure, or the work of one
expert is taken for that of several.
"""
_ABOUT = {
    "golden, test half": "{tasks} tasks for the shipped experts (`golden/README.md`). They were written "
    "from the specifications before any matcher existed. Nothing is fitted on them.",
    "golden, dev half": "The half on which the matcher is fitted.",
    "clinc150": "Utterances to an assistant. Each of 150 intents is an expert, made of 50 training utterances. The "
    "tasks are the test utterances, and 1,000 that belong to no intent.",
    "nlbse24_issues": "Issues of five repositories. Each repository is an expert, made of 50 titles. The other issues "
    "are the tasks.",
    "marge_experts": "{tasks} tasks for the experts of another project of the source's author. Only the trigger words "
    "of these experts are known.",
}


def text(reports: Sequence[Report], left_out: Sequence[str] = ()) -> str:
    """The page.

    Parameters
    ----------
    reports
        Those of one set stand together.
    left_out
        Sets that were not there.
    """
    parts = [_HEAD, _unseen()]
    for name in dict.fromkeys(r.set for r in reports):
        parts.append(_set(name, [r for r in reports if r.set == name]))
    parts += [f"Not measured: {', '.join(left_out)}.\n"] if left_out else []
    return "\n".join(parts)


def _set(name: str, of: Sequence[Report]) -> str:
    about = _ABOUT.get(name, "{tasks} tasks.").format(tasks=f"{of[0].accuracy.of:,}")
    rows = [
        [
            r.matcher, _share(r.accuracy), _share(r.abstention_precision), _share(r.abstention_recall),
            _share(r.support_recall), _share(r.depth_agreement), f"{r.calibration_error:.3f}",
        ]
        for r in of
    ]  # fmt: skip
    head = [
        "matcher", "right lead, %", "abstains rightly, %", "finds nobody's, %", "support found, %", "depth agrees, %",
        "calibration",
    ]  # fmt: skip
    parts = [f"## {name}\n", fill(about, 120) + "\n", table(head, rows) + "\n"]
    for what, groups in (("kind", _by_kind), ("depth", _by_depth)):
        if len(groups(of[0])) > 1:
            parts.append(_grouped(what, of, groups))
    last = of[-1]
    bins = [
        [f"{b.low:.1f} to {b.high:.1f}", f"{b.count:,}", f"{b.confidence:.2f}", f"{b.right:.2f}"]
        for b in last.reliability
    ]
    if bins:
        parts.append(f"`{last.matcher}`, by its confidence:\n")
        parts.append(table(["confidence", "tasks", "mean confidence", "share right"], bins) + "\n")
    return "\n".join([*parts, *_confusion(last), *_depths(of)])


def _by_kind(r: Report) -> dict[str, Share]:
    return r.by_kind


def _by_depth(r: Report) -> dict[str, Share]:
    return r.by_depth


def _grouped(what: str, of: Sequence[Report], groups: Callable[[Report], dict[str, Share]]) -> str:
    names = list(groups(of[0]))
    rows = [[name, f"{groups(of[0])[name].of:,}", *(_share(groups(r)[name]) for r in of)] for name in names]
    return table([what, "tasks", *(f"{r.matcher}, %" for r in of)], rows) + "\n"


def _depths(of: Sequence[Report]) -> list[str]:
    """Of the matcher alone, after claims: the first report that knows of depths."""
    r = next((r for r in of if r.depths), None)
    if r is None:
        return []
    rows = [[may, *(f"{row.get(d, 0):,}" for d in DEPTHS)] for may, row in r.depths.items()]
    return [
        f"`{r.matcher}`, the depths that tasks may have, and those that the matcher chose:\n",
        table(["may be", *DEPTHS], rows) + "\n",
        DEPTH_NOTE if r.set == "golden, test half" else "",
    ]


def _confusion(r: Report) -> list[str]:
    rows = confused(r)
    if not rows:
        return []
    shown = [[f"{wanted} → {got}", f"{n:,}"] for n, wanted, got in rows[:_MOST]]
    more = sum(n for n, _, _ in rows[_MOST:])
    head = f"`{r.matcher}`, led by the wrong expert{f' (and {more:,} further tasks)' if more else ''}:\n"
    return [head, table(["should lead → leads", "tasks"], shown) + "\n"]


def _share(s: Share) -> str:
    if not s.of:
        return ""
    return f"{100 * s.share.value:.1f} [{100 * s.share.low:.1f}, {100 * s.share.high:.1f}]"
