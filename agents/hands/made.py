"""Makes the hands that an expert's specification names, with the model that the operator's variables name for them.

The variables are those of any model (docs/models.md), with the prefix `HANDS_` and the name in capitals, over
`EXPERT_`, over those for everybody.
"""

import importlib.util
from collections.abc import Mapping
from pathlib import Path

from parley.agents.config import resolve, variables_of
from parley.agents.hands.catalogue import Hand, HandsError, hand_of, named_file
from parley.agents.hands.hand import AgentHands
from parley.agents.openai.options import parse
from parley.agents.specs import AgentSpec
from parley.schemas.expert import ROLE, ExpertSpec


def hands_of(expert: ExpertSpec | None, environ: Mapping[str, str], path: Path | None = None) -> AgentHands | None:
    """The hands of an expert's worker; None: its own model's.

    Raises
    ------
    HandsError
        The list cannot be used, or has none of that name, or nothing names a model with a server for it.
    ModelMisconfigured
        That model's variables cannot be used.
    """
    hand = hand_of(expert.hands, environ, path) if expert is not None else None
    if expert is None or hand is None:
        return None
    if hand.acp and importlib.util.find_spec("acp") is None:
        why = "the Agent Client Protocol is an extra: pip install 'parley[acp]'"
        raise HandsError(named_file(environ, path), f"hands.{expert.hands}.acp", why)
    resolved = resolve(_spec(expert.hands), _environ(expert.hands, hand, environ))
    if resolved.model != "openai":
        why = f"its model is {resolved.model}, and one with a server is wanted: set {_prefix(expert.hands)}LLM_PROVIDER"
        raise HandsError(named_file(environ, path), f"hands.{expert.hands}.model", why)
    return AgentHands(expert.hands, hand, parse(resolved.options, {}))


def variables(expert: ExpertSpec | None, environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that an expert's hands go by; none where it has none of others. Raises as `hands_of`."""
    hand = hand_of(expert.hands, environ) if expert is not None else None
    if expert is None or hand is None:
        return {}
    return variables_of(_spec(expert.hands), _environ(expert.hands, hand, environ))[1]


def _spec(name: str) -> AgentSpec:
    return AgentSpec(queue=_prefix(name).lower().rstrip("_"), roles=(ROLE,))


def _prefix(name: str) -> str:
    return f"HANDS_{name.replace('-', '_').upper()}_"


def _environ(name: str, hand: Hand, environ: Mapping[str, str]) -> dict[str, str]:
    return {**environ, **({f"{_prefix(name)}LLM_MODEL": hand.model} if hand.model else {})}
