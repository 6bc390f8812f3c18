"""Reports of routing as a page: docs/routing.md, made of the figures alone."""

from collections.abc import Callable, Sequence
from textwrap import fill

from evaluation.first_look import table
from evaluation.routing import Report, Share, confused
from evaluation.routing_registries import FROZEN, LARGE, LEFT_OUT
from schemas.routing import DEPTHS

_MOST = 12
"""Pairs of the confusion that are shown."""

_HEAD = """# How well tasks find their experts

Written by `make routing` (`parley eval routing --data DIR --page FILE`), not by hand. `parley eval routing` prints the
same figures.

A task is routed right if its lead is one of those who may lead. If nobody should lead it, it is right to abstain. A
general-purpose expert counts as nobody. Intervals are Wilson's, 95 %.

The tables compare these matchers (agents/matching):

- `words` is the source's own score (seeds/madp.md 3.3). It is the baseline.
- `better, by words` and `better` are the matcher that runs, without and with the shipped reader, before anybody claims.
- `better, after claims` is the result once experts have claimed and challenged, as `parley route` says it. Support and
  depth are only known then.
- `better, asked below 0.8` is the result with a language model in the helper's seat. The model is asked if the better
  matcher is not sure, or finds nobody (docs/decisions/0015). The replies of one model are on record, and taken as the
  helper takes them (`evaluation/golden/README.md` says how they were given). Another model may do worse.

The columns are:

- *abstains rightly*: of the tasks that nobody took, how many nobody should have (precision)
- *finds nobody's*: of the tasks that nobody should take, how many nobody took (recall)
- *support found*: of the experts that a set names as support of tasks that were taken, how many take part
- *calibration*: expected calibration error, over ten bins of confidence

## How the matcher works

First the matcher cleans the prompt. It leaves out what would steer the router and what the task says it does not want,
and it corrects misspelt words. A linear model over the words then says what subject of software work the prompt is
about. If it is sure, that is enough. Otherwise the reader, a small language model in this process, says it too. The
reader also gives the task's vector, which is compared with everything that the specifications say.

What each specification says decides whose a subject is, by the same models. So an expert of your own is found by words
that nobody wrote into its specification. `domain.owns` and `triggers.examples` help it most. Weights are of such
features and of no expert's name. These models know software alone.

If subjects of software do not tell the experts apart, the ranking decides (agents/matching/ranking.py):

- It compares the task's vector, its words and pieces of its words with each phrase of each specification. The vector is
  by an encoder of its own (agents/matching/task_encoder.py), which was trained on invented registries of many fields.
  There a task lies near to what its lead's specification says.
- It asks how much nearer the task lies than tasks of other fields do. A phrase that is near to everything says little.
- It looks how near a registry's own examples lie to each other, because tasks lie about as near. If each expert has
  twenty or more, a task that is further off than 98 of 100 of them is nobody's.
- With many experts, somebody lies near to anything. So the more experts there are beyond twelve, the nearer a task must
  be.
- What others leave to an expert speaks for it.

The vectors of specifications are computed once, when they are first heard of.

The depth of the coordination follows from how many candidates there are and how sure they are, by the source's rule
4.1. How a task is worded, and its vector, tell whether it is work for several experts (agents/matching/several.py). If
it is, two experts are candidates beside the lead. If one expert is enough, nobody is. That is fitted on the tasks to
train on. It holds if subjects tell the experts apart.

A few rules look at the task's verb (agents/matching/verbs.py). "Fix the failing tests" goes to who repairs. "Improve
performance" says nothing of what is slow: who measures leads, and the task is deliberated. So is "redesign the data
layer". "Write a test for this function" is one small thing: one expert beside the lead is enough. "Add JWT auth" has
two beside the lead.

The matcher reads English. It abstains on a task that is surely in another language (agents/matching/language.py). A
language model in the helper's seat may then be asked. Of 36 prompts in other languages in the invented registries it
recognises 35, and it takes none of 835 English ones for another language.
"""


def _unseen() -> str:
    told = LEFT_OUT.read_text(encoding="utf-8")
    read = told.split("\nwords:")[0]
    return f"""## Registries that the ranking was not fitted on

The encoder is trained on 67 invented registries with 3,237 English prompts (`evaluation/registries/train`, `train_more`
and `train_hard`): `python -m evaluation.training.encoder` says how. The ranking is fitted on 14 others with 840 prompts
(`fit`), which the encoder has not seen. It is fitted on 13 of them and measured on the one that is left out, 14 times.
Every prompt is ranked with the encoder, as if subjects of software told nobody apart. The line `all registries` is the
figure of all. Below are the figures of each registry, then of each kind of prompt. `python -m evaluation.fit_ranking
--figures evaluation/registries/{LEFT_OUT.name}` fits and prints this. With the plain encoder in place of the trained
one it is 61.1 %. The features were chosen by these figures: a registry that nobody has seen may do a little worse.

```
{read}
```

The target of 85 % is missed. Most of the missed prompts use other words than the specification. They need knowledge of
the field that a small encoder does not have. [Decision 32](decisions/0032-an-encoder-trained-for-tasks.md) says what
was tried, and what a larger encoder would bring.

Abstention was fitted on the figures below, of registries that are put together from several invented ones. Prompts of
all other registries count as nobody's there, though some of them fit somebody, because fields overlap. By words alone,
hardly anything is ever refused.

```
{LARGE.read_text(encoding="utf-8").rstrip()}
```

`python -m evaluation.routing_speed` measures how long a match takes.

## Registries that nobody had seen

{FROZEN.read_text(encoding="utf-8").rstrip()}
"""


DEPTH_NOTE = """\
The target of 85 % for depth is missed. On the development half the matcher agrees for 89 %, but that half is labelled
in another way. There instant and quick are one, standard and extended are one, and no task has to be quick or standard.
So three differences could not be fitted: whether an expert works alone or has one beside it, standard or extended, and
when only standard will do. The rest is missed if the lead is unsure, or if one expert's work is taken for that of
several.
"""
_ABOUT = {
    "golden, test half": "{tasks} tasks over the shipped experts (`evaluation/golden/README.md`), written from their "
    "specifications before any matcher; nothing is fitted on it.",
    "golden, dev half": "The half that the matcher is fitted on.",
    "clinc150": "Utterances to an assistant: 150 intents as experts, each made of 50 training utterances; the test "
    "ones, and 1,000 that belong to none.",
    "nlbse24_issues": "Issues of five repositories: each repository an expert, made of 50 titles; the other issues as "
    "tasks.",
    "marge_experts": "The experts of another project of the source's author, of which only trigger words are known: "
    "{tasks} tasks.",
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
        parts.append(table(["confidence", "tasks", "mean said", "share right"], bins) + "\n")
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
        f"`{r.matcher}`, the depths that tasks may have and those that they have:\n",
        table(["may be", *DEPTHS], rows) + "\n",
        DEPTH_NOTE if r.set == "golden, test half" else "",
    ]


def _confusion(r: Report) -> list[str]:
    rows = confused(r)
    if not rows:
        return []
    shown = [[f"{wanted} → {got}", f"{n:,}"] for n, wanted, got in rows[:_MOST]]
    more = sum(n for n, _, _ in rows[_MOST:])
    head = f"`{r.matcher}`, taken for another{f' (and {more:,} further tasks)' if more else ''}:\n"
    return [head, table(["should lead → leads", "tasks"], shown) + "\n"]


def _share(s: Share) -> str:
    if not s.of:
        return ""
    return f"{100 * s.share.value:.1f} [{100 * s.share.low:.1f}, {100 * s.share.high:.1f}]"
