"""A model that writes and then waits: a session stays where a test wants to look at it, however fast the machine is."""

import asyncio
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from parley.agents.context import Shown
from parley.agents.model.base import Completion, Emit
from parley.agents.models import make_model
from parley.schemas.protocols.consensus import Position
from tests.support.model import StubModel

HOSTILE = (
    '<img src=x onerror="window.broken=1"><script>window.broken=1</script>'
    '<a href="javascript:window.broken=1">here</a><svg onload=window.broken=1>{{7*7}}${7*7}'
    "</p></article><style>*{display:none}</style>"
)
"""What would run, lead away or hide the page, were it taken for markup."""
_WAIT_S = 50.0


class Writer(StubModel):
    """As the stub, or with `reads` as the keyless model. It writes its reasons, and waits until its round may end:
    until the folder `gate` has a file `round-N` or `all`."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self.gate = Path(options["gate"])
        self.hostile = bool(options.get("hostile", False))
        self.inner = make_model("extractive") if options.get("reads") else None
        if self.inner is not None:
            self.name, self.family = self.inner.name, self.inner.family

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        """The reasons word by word; the answer once the round may end."""
        silent: Emit = lambda _: None  # noqa: E731
        found = await (super().reply(shown, silent) if self.inner is None else self.inner.reply(shown, silent))
        for word in str(getattr(found.body, "reasoning", "Counting.")).split():
            emit(f"{word} ")
        until = time.monotonic() + _WAIT_S
        while not self._may_end(shown.round) and time.monotonic() < until:  # noqa: ASYNC110  a file, from elsewhere
            await asyncio.sleep(0.02)
        return found

    def _may_end(self, round_: int) -> bool:
        return (self.gate / "all").exists() or (self.gate / f"round-{round_}").exists()

    def _body(self, shown: Shown) -> Any:
        body = super()._body(shown)
        if self.hostile and isinstance(body, Position):
            reason = HOSTILE if body.change != "kept" else ""
            body = msgspec.structs.replace(body, reasoning=f"{shown.seat}: {HOSTILE}", change_reason=reason)
        return body


def make(options: Mapping[str, Any]) -> Writer:
    return Writer(options)


class Gates:
    """The folder in which a test lets rounds end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "gates"
        self.folder.mkdir()

    def open(self, round_: int) -> None:
        (self.folder / f"round-{round_}").touch()

    def open_all(self) -> None:
        (self.folder / "all").touch()

    def close(self) -> None:
        """Let none end any more."""
        for path in self.folder.iterdir():
            path.unlink()

    def settings(self, folder: Path, *, hostile: bool = False, reads: bool = False, room: int = 4) -> Path:
        """A settings file with a panel that waits at these gates."""
        seats = {}
        for queue in ("panelist_1", "panelist_2", "panelist_3", "analyst"):
            options = {
                "gate": str(self.folder), "hostile": int(hostile and queue != "analyst"), "reads": int(reads),
            }  # fmt: skip
            seats[queue] = {"model": "tests.web.page.writer:make", "options": options, "room": room}
        panel, path = folder / "waiting-panel.yaml", folder / "waiting.yaml"
        panel.write_text(json.dumps({"seats": seats}))
        path.write_text(json.dumps({"panel_file": str(panel)}))
        return path
