"""A list of sessions in words."""

import time
from collections.abc import Iterator, Sequence
from typing import Any

from client.text import line


def sessions_table(rows: Sequence[Any]) -> Iterator[str]:
    """A list of sessions in lines, the newest first."""
    yield f"{'session':20}  {'opened':16}  {'protocol':10}  {'status':9}  {'reason':10}  question"
    for row in rows:
        at = time.strftime("%Y-%m-%d %H:%M", time.localtime(row.opened_ns / 1e9))
        yield (
            f"{line(row.session):20}  {at}  {line(row.protocol):10}  {line(row.status):9}  {line(row.reason, 30):10}  "
            f"{line(row.question, 60)}"
        )
