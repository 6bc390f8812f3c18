"""Which encoder an agent uses: `options.encoder` of its file, over it the variable ENCODER for everybody, its role and
its seat (`HELPER_ENCODER`), the nearer over the farther."""

from collections.abc import Mapping, Sequence
from typing import Any

from parley.agents.encoders import Encoder, EncoderError, EncoderMisconfigured, make_encoder

VARIABLE = "ENCODER"
"""Without a prefix."""
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
        The file's is neither.
    """
    options = _of_file(own)
    name = next((found for level in prefixes if (found := environ.get(f"{level}{VARIABLE}", "").strip())), "")
    if name and name != options.get("name", DEFAULT):
        options = {}
    return {**options, "name": name} if name else options or None


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
