"""Files in the messages of a request: `file` parts of Chat Completions, `input_file` parts of Responses."""

import base64
import binascii
from collections.abc import Iterator
from typing import Any

from parley.client.evidence import SentFile
from parley.web.openai.errors import ApiError

_KINDS = ("file", "input_file")


def is_file(part: Any) -> bool:
    """Whether a part of a message's content is a file."""
    return isinstance(part, dict) and part.get("type") in _KINDS


def files_of(content: Any, where: str) -> Iterator[SentFile]:
    """Each file in a content. Raises ApiError."""
    for i, part in enumerate(content if isinstance(content, list) else ()):
        if not is_file(part):
            continue
        at = f"{where}[{i}]"
        file = part.get("file") if part["type"] == "file" else part
        data = file.get("file_data") if isinstance(file, dict) else None
        if not isinstance(data, str):
            raise ApiError(f"{at}: taken is a file with its bytes, as `file_data`", param=at)
        try:
            content_bytes = base64.b64decode(data.rpartition(",")[2], validate=True)
        except (binascii.Error, ValueError):
            raise ApiError(f"{at}: its file_data is no base64", param=at) from None
        yield SentFile(str(file.get("filename") or f"file {i + 1}"), content_bytes)
