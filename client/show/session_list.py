"""A list of sessions in words."""

import time
from collections.abc import Iterator, Sequence
from typing import Any

from client.text import line


def sessions_table(rows: Sequence[Any]) -> Iterator[str]:
    """A list of sessions in lines, the newest first."""
    reasons = max(10, *(len(line(row.reason, 30)) for row in rows)) if rows else 10
    yield f"{'session':20}  {'opened':16}  {'protocol':10}  {'status':9}  {'reason':{reasons}}  question"
    for row in rows:
        at = time.strftime("%Y-%m-%d %H:%M", time.localtime(row.opened_ns / 1e9))
        how = f"{line(row.protocol):10}  {line(row.status):9}  {line(row.reason, 30):{reasons}}"
        yield f"{line(row.session):20}  {at}  {how}  {line(row.question, 60)}"
