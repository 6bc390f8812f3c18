"""Models by name: `extractive`, `openai`, `recorded`, or `module:attribute`, a path of a factory `options -> Model`."""

import importlib
from collections.abc import Mapping
from typing import Any

from agents.models.base import (
    Completion,
    Emit,
    Model,
    ModelError,
    ModelMisconfigured,
    ModelRefused,
    ModelUnavailable,
    NotRecorded,
)

__all__ = [
    "Completion",
    "Emit",
    "Model",
    "ModelError",
    "ModelMisconfigured",
    "ModelRefused",
    "ModelUnavailable",
    "NotRecorded",
    "make_model",
]


def make_model(name: str, options: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None) -> Model:
    """The model that an operator named.

    Parameters
    ----------
    name
        `extractive`; `openai` (any compatible server; docs/models.md); `recorded` (option `path`); or
        `module:attribute`, a callable that takes the options as one mapping. It comes from the operator's configuration
        and never from the bus.
    environ
        Where `openai` looks for a key that the options do not bring; None: the process's environment.

    Raises
    ------
    ModelMisconfigured
        No such model, or an option that it does not take.
    """
    given = dict(options or {})
    if name == "extractive":
        from agents.extractive.model import make as make_extractive

        return make_extractive(given)
    if name == "openai":
        from agents.openai.model import make as make_openai

        return make_openai(given, environ)
    if name == "recorded":
        from agents.models import recorded

        return recorded.make(given)
    if ":" not in name:
        raise ModelMisconfigured(f"model: got {name!r}, allowed are extractive, openai, recorded and module:attribute")
    module, _, attribute = name.partition(":")
    try:
        factory = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ModelMisconfigured(f"model: {name!r} cannot be imported: {error}") from error
    model: Model = factory(given)
    return model
