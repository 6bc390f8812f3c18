"""The model without a language model: no key, no download, deterministic. It answers from the documents it is given.

It reads the question's form, weighs sentences by BM25 and by words that praise or blame, and quotes what it goes by. It
knows English only, understands nothing, and says in each reasoning that no language model was at work. What it reads is
data: a sentence that gives instructions to a machine is left out of the evidence, and the reply is flagged `injection`.
"""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agents.context import Shown
from agents.encoders import EncoderMisconfigured
from agents.models.base import Completion, Emit, Model, ModelMisconfigured, ModelRefused
from agents.protocols.competition import extractive_answers as extractive_competition
from agents.protocols.consensus import extractive_analyst
from agents.protocols.consensus import extractive_panelist as extractive_panel
from agents.protocols.critic import extractive_answers as extractive_critic
from agents.protocols.critic import extractive_judge as extractive_critic_judge
from agents.protocols.critic.extractive_compare import Comparer
from agents.protocols.maci import extractive_debater as extractive_maci
from agents.protocols.maci import extractive_helper as extractive_maci_helper
from agents.protocols.maci import extractive_judge as extractive_maci_judge
from agents.protocols.madp import extractive_expert as extractive_madp
from agents.retrieval.corpus import Corpus
from schemas.protocols.consensus import Analysis
from schemas.protocols.critic import Critique, Judgement, Rewritten, Similarities
from schemas.protocols.maci.messages import Blind, Case, Crit, Measured, Merged, Retrieved, Tests
from schemas.protocols.madp.messages import Challenges, Claim
from schemas.protocols.madp.work import Review, Support, Work
from schemas.routing import Matched
from schemas.turn import Usage

if TYPE_CHECKING:
    from agents.matching.turn import Matching

LARGE = 200_000
"""Characters of documents from which reading leaves the event loop, so that heartbeats go on."""


class Extractive:
    """Model `extractive`. Documents are cut once and kept by content hash.

    Parameters
    ----------
    comparer
        Compares objections for the helper; None: with the embedded encoder, if it can be had, else by words.
    asks
        A language model beside it, for what it is unsure of and may ask (agents/matching/ask_model.py).
    """

    name = "extractive"
    family = "extractive"
    computes = True
    """It computes what is asked of no model by its own options."""
    usd_per_million_output = 0.0

    def __init__(self, comparer: Comparer | None = None, asks: Model | None = None) -> None:
        self._asks = asks
        self._corpus = Corpus()
        self._comparer = comparer or Comparer()
        self._matching: Matching | None = None
        encoder = self._comparer.encoder
        self.metered = encoder is not None and encoder.metered
        self.usd_per_million_input = 0.0 if encoder is None else encoder.usd_per_million or 0.0

    async def aclose(self) -> None:
        """Close the encoder's connections."""
        await self._comparer.aclose()

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        """Answer one turn; same turn, same reply.

        Raises
        ------
        ModelRefused
            A kind of turn that it has no method for.
        """
        helped = await self._helped(shown, emit)
        if helped is not None:
            emit(_spoken(helped.body))
            return helped
        if shown.protocol == "maci":
            body, flags = await asyncio.to_thread(_debated, shown)
        elif shown.protocol == "competition":
            body, injected = await asyncio.to_thread(extractive_competition.answer, shown)
            flags = ("injection",) if injected else ()
        elif shown.protocol == "madp":
            body, injected = await asyncio.to_thread(self._as_expert, shown)
            flags = ("injection",) if injected else ()
        elif sum(len(d.text) for d in shown.documents) > LARGE:
            body, flags = await asyncio.to_thread(self._answer, shown)
        else:
            body, flags = self._answer(shown)
        emit(_spoken(body))
        return Completion(body=body, usage=Usage(calls=1), flags=flags)

    async def _helped(self, shown: Shown, emit: Emit) -> Completion | None:
        """A turn of the helper's; None: it is none."""
        match shown.protocol, shown.kind:
            case "critic", "compare":
                compared = await self._comparer.compare(shown)
                return Completion(body=compared.body, usage=compared.usage, flags=compared.flags)
            case "maci", "retrieve":
                return await extractive_maci_helper.retrieve(shown, self._comparer)
            case "maci", "measure":
                return await extractive_maci_helper.measure(shown, self._comparer)
            case "madp", "match":
                if shown.experts is None:
                    raise ModelRefused("this worker hears no experts, and so cannot match a task")
                await shown.experts.settled(shown.brief.experts)
                if self._matching is None:
                    from agents.matching.turn import Matching  # the matcher: for the helper alone

                    self._matching = Matching(self._asks)
                return await self._matching.matched(shown, shown.experts, emit)
        return None

    def _as_expert(self, shown: Shown) -> tuple[Any, bool]:
        """A turn of MADP, but the helper's: (the body, whether something that was read talks as to a machine)."""
        try:
            return extractive_madp.answer(shown, self._corpus)
        except KeyError:
            raise _unknown(shown) from None

    def _answer(self, shown: Shown) -> tuple[Any, tuple[str, ...]]:
        kind = (shown.protocol, shown.kind)
        if kind in (("consensus", "answer"), ("consensus", "revise")):
            position, injected = extractive_panel.position(shown, self._corpus)
            return position, ("injection",) if injected else ()
        if kind == ("consensus", "score"):
            return extractive_analyst.score(shown), ()
        if kind == ("consensus", "synthesize"):
            return extractive_analyst.synthesize(shown), ()
        if shown.protocol == "critic":
            found, injected = self._criticised(shown)
            return found, ("injection",) if injected else ()
        raise _unknown(shown)

    def _criticised(self, shown: Shown) -> tuple[Any, bool]:
        """A turn of the critic protocol: (the body, whether something that was read talks as to a machine)."""
        match shown.kind:
            case "rewrite":
                return extractive_critic_judge.rewrite(shown), False
            case "answer":
                return extractive_critic.answer(shown, self._corpus)
            case "critique" | "press":
                return extractive_critic.critique(shown, self._corpus)
            case "judge":
                return extractive_critic_judge.judge(shown)
            case "verdict":
                return extractive_critic_judge.verdict(shown), False
        raise _unknown(shown)


def _debated(shown: Shown) -> tuple[Any, tuple[str, ...]]:
    """A turn of the MACI protocol, but the helper's: (the body, the flags)."""
    body: Any
    match shown.kind:
        case "blind":
            body, injected = extractive_maci.blind(shown)
        case "argue":
            body, injected = extractive_maci.argue(shown)
        case "crit":
            body, injected = extractive_maci_judge.crit(shown)
        case "plan":
            body, injected = extractive_maci_judge.plan(shown)
        case "merge":
            body, injected = extractive_maci_judge.merge(shown), False
        case _:
            raise _unknown(shown)
    return body, ("injection",) if injected else ()


def _unknown(shown: Shown) -> ModelRefused:
    return ModelRefused(f"the extractive model has no method for {shown.kind!r} turns of protocol {shown.protocol!r}")


def _spoken(body: Any) -> str:
    match body:
        case Analysis() | Judgement():
            return f"{body.score:g}: {body.comment}"
        case Rewritten():
            return body.question
        case Critique():
            return body.objection
        case Similarities():
            return ", ".join(f"{v:g}" for v in body.values)
        case Blind():
            return body.reasoning
        case Case():
            return "\n".join([*(a.claim for a in body.arguments), body.changed])
        case Crit():
            return "\n".join(f"{s.item}: {s.composite:.2f}, {s.justification}" for s in body.scores)
        case Retrieved():
            return f"{len(body.passages)} passages"
        case Measured():
            return f"{len(body.similar.dots)} quotations measured"
        case Merged():
            return ", ".join(g.name for g in body.groups)
        case Tests():
            return "\n".join(t.what for t in body.tests)
        case Matched():
            return ", ".join(c.expert for c in body.candidates) or "nobody"
        case Claim():
            return body.claim
        case Challenges():
            return "\n".join(c.reason for c in body.challenges)
        case Work() | Support():
            return f"{body.summary}\n{body.output}"
        case Review():
            return "\n".join([body.verdict, *(f.description for f in body.findings)])
    if (told := extractive_competition.live(body)) is not None:
        return told
    answer, reasoning = str(body.answer), str(body.reasoning)
    return f"{answer}\n{reasoning}" if answer else reasoning


def make(options: Mapping[str, Any]) -> Extractive:
    """The model; its one option is `encoder`, used where objections are compared (docs/encoders.md).

    Raises
    ------
    ModelMisconfigured
        Another option, or an encoder that cannot be had.
    """
    for name in options:
        if name != "encoder":
            raise ModelMisconfigured(f"options.{name}: the extractive model takes no option but encoder")
    try:
        return Extractive(Comparer(options.get("encoder")))
    except EncoderMisconfigured as error:
        raise ModelMisconfigured(error.why) from error
