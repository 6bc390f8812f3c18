"""The encoder that experts of any field are ranked by (agents/matching/ranking.py): a task's vector lies near to those
of the phrases of the specification whose expert should lead it.

all-MiniLM-L6-v2 (its licence: agents/encoders/minilm/LICENSE), trained further on invented registries of many fields
(parley_research.training.encoder says how) and rounded to 8 bits; run by onnxruntime on one thread, no torch, no
download.
"""

from pathlib import Path

from parley.agents.encoders.embedded import Embedded


class TaskEncoder(Embedded):
    """See the module. The rest of a text of more than 256 tokens is not read."""

    name = "parley-tasks-1"
    file = Path(__file__).parent / "tasks.int8.onnx"
    longest = 256
    left_out = ("SkipLayerNormFusion",)
    """What it makes of two operators is slower than they are, by a tenth of a reading."""
