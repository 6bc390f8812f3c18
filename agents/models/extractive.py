"""The model without a language model: no key, no download, deterministic. It answers from the documents it is given.

It reads the question's form, weighs sentences by BM25 and by words that praise or blame, and quotes what it goes by. It
knows English only, understands nothing, and says in each reasoning that no language model was at work. What it reads is
data: a sentence that gives instructions to a machine is left out of the evidence, and the reply is flagged `injection`.

How it answers each kind of turn, the turn's protocol says (parley.agents.turn_kinds.kit.Kit.methods).
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from parley.agents.context import Shown
from parley.agents.encoders import EncoderError
from parley.agents.extractive.text_similarity import TextSimilarity
from parley.agents.extractive.turn_method import TurnMethod, Workbench
from parley.agents.model.base import Completion, Emit, Model, ModelMisconfigured, ModelRefused
from parley.agents.protocols import KITS


class Extractive:
    """Model `extractive`.

    Parameters
    ----------
    encoding
        Compares texts for the helper; None: with the embedded encoder, if it can be had, else by words.
    asks
        A language model beside it, for what it is unsure of and may ask (agents/expert_matching/ask_model.py).
    """

    name = "extractive"
    family = "extractive"
    computes = True
    """It computes what is asked of no model by its own options."""
    metered = False
    usd_per_million_input = usd_per_million_output = 0.0

    def __init__(self, encoding: TextSimilarity | None = None, asks: Model | None = None) -> None:
        self._bench = Workbench(encoding or TextSimilarity(), asks)

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        """Answer one turn; same turn, same reply. Raises ModelRefused: a kind of turn that it has no method for."""
        method = _method(shown.protocol, shown.kind)
        done = await method.answer(shown, self._bench, emit)
        emit(method.live(done.body))
        if done.usage.input_tokens or done.usage.unpriced:
            return done
        # nothing was used, and nobody needs to estimate it
        return msgspec.structs.replace(done, usage=msgspec.structs.replace(done.usage, unpriced=False))


def _method(protocol: str, kind: str) -> TurnMethod:
    kit = KITS.get(protocol)
    methods = {} if kit is None else kit.methods()
    if kind not in methods:
        raise ModelRefused(f"the extractive model has no method for {kind!r} turns of protocol {protocol!r}")
    return methods[kind]


def make(options: Mapping[str, Any]) -> Extractive:
    """The model; its one option is `encoder`, used where objections are compared (docs/encoders.md). Raises
    ModelMisconfigured: another option, or an encoder that cannot be had."""
    for name in options:
        if name != "encoder":
            raise ModelMisconfigured(f"options.{name}: the extractive model takes no option but encoder")
    try:
        return Extractive(TextSimilarity(options.get("encoder")))
    except EncoderError as error:
        raise ModelMisconfigured(error.why) from error
