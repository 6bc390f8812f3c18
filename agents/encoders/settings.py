"""Which encoder an agent uses: `options.encoder` of its file, over it variables for everybody, its role and its seat.

    ENCODER=openai                          embedded | openai | sentence-transformers | none
    ENCODER_MODEL, ENCODER_BASE_URL         its options
    ENCODER_API_KEY, ENCODER_API_KEY_FILE

Each also with a prefix (`HELPER_ENCODER`), the nearer over the farther. Where a nearer level names another encoder or
another address, the key, model and address of a farther one are not taken over.
"""

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from parley.agents.encoders import Encoder, EncoderError, EncoderMisconfigured, make_encoder
from parley.agents.model.base import ModelMisconfigured
from parley.agents.secrets import Secret, variable

VARIABLES = ("ENCODER", "ENCODER_MODEL", "ENCODER_BASE_URL", "ENCODER_API_KEY", "ENCODER_API_KEY_FILE")
"""Every variable, without a prefix."""
DEFAULT = "embedded"
NOT_WANTED = "no encoder is wanted"


def chosen(own: Any, prefixes: Sequence[str], environ: Mapping[str, str]) -> dict[str, Any] | None:
    """`options.encoder` as the file and the environment give it together; None: neither says anything.

    Parameters
    ----------
    own
        As it stands in the agent file: a name, or a mapping with `name` and the encoder's options; None: not there.
    prefixes
        As parley.agents.config.prefixes gives them, the nearest first.

    Raises
    ------
    EncoderMisconfigured
        The file's is neither, or a variable that names an encoder's part without an encoder that takes it.
    """
    options = _of_file(own)
    for level in reversed(prefixes):
        values = {name: environ.get(f"{level}{name}", "").strip() for name in VARIABLES[:3]}
        try:
            text = variable(f"{level}ENCODER_API_KEY", environ)
        except ModelMisconfigured as error:
            raise EncoderMisconfigured(error.why) from None
        name, model, base_url = (values[n] for n in VARIABLES[:3])
        if name and name != options.get("name", DEFAULT):
            options = {}
        if base_url and base_url.rstrip("/") != str(options.get("base_url", "")).rstrip("/"):
            options.pop("api_key", None)
            options.pop("key_variable", None)
        parts = {"name": name, "model": model, "base_url": base_url}
        options |= {part: value for part, value in parts.items() if value}
        if text:
            options.pop("key_variable", None)
            options["api_key"] = Secret(text)
    if options.get("name", DEFAULT) != "openai":
        options.pop("api_key", None)  # set for another agent
    elif key := importlib.import_module("parley.agents.encoders.openai").find_key(options, environ):
        options["api_key"] = key
    return options or None


def from_options(own: Any) -> tuple[Encoder | None, str]:
    """(the encoder that `options.encoder` stands for or None, why there is none or nothing).

    What was not asked for is not insisted on: without `options.encoder`, an embedded one that cannot be had is None.

    Raises
    ------
    EncoderMisconfigured
        What was asked for cannot be had.
    """
    settings = _of_file(own)
    name = settings.pop("name", DEFAULT)
    try:
        return make_encoder(name, settings), "" if name != "none" else NOT_WANTED
    except EncoderError as error:
        if own is not None:
            raise
        return None, error.why


def _of_file(own: Any) -> dict[str, Any]:
    if own is None:
        return {}
    if isinstance(own, str):
        return {"name": own}
    if isinstance(own, Mapping) and all(isinstance(k, str) for k in own) and isinstance(own.get("name", ""), str):
        return dict(own)
    raise EncoderMisconfigured(f"options.encoder: got {own!r}, expected a name or a mapping with name")
