"""How sessions use past outcomes: the same for the command line, the gateway and the Python API."""

import asyncio
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from parley.bus.errors import BusError
from parley.client.errors import BadInput, ParleyError
from parley.client.protocols import setup_of
from parley.client.reliability import store
from parley.client.reliability.opened_with import with_records
from parley.client.text import line
from parley.schemas.afterwards.learned import Learned, Thresholds
from parley.schemas.session import OpenSession
from parley.schemas.wire import InvalidValue

if TYPE_CHECKING:
    from parley.client.client import Client

_LOGGER = logging.getLogger(__name__)
MOST_NAME = 60
"""Characters of a folder's own name that are told."""
_LOOK_S = 10.0
"""So long an opening waits for what past tasks teach."""


@dataclass(frozen=True, kw_only=True)
class Past:
    """A file of what was learned, and what of it enters a session."""

    file: Path | None = None
    """As parley.client.reliability.store keeps it; None: nothing is known."""
    reliability: bool = True
    """Whether members weigh by their records."""
    calibration: bool = True
    """Whether confidence is told as past outcomes say it should be read."""
    preferences: bool = True
    """Whether past tasks say who leads one like them, and how deep it goes."""

    def of_folder(self, opening: OpenSession, folder: Path) -> OpenSession:
        """The task with the name of its folder, by which it is known to those that come after it."""
        if self.file is None or not self.preferences:
            return opening
        from parley.client.git.project import project_of  # runs git

        named = line(folder.resolve().name.encode(errors="replace").decode(), MOST_NAME)
        learned = msgspec.structs.replace(opening.learned or Learned(), folder=f"{named}@{project_of(folder)}")
        return msgspec.structs.replace(opening, learned=learned)

    async def taught(self, client: "Client", opening: OpenSession) -> OpenSession:
        """The task with what past tasks of its folder say, as far as that can be read in time."""
        if self.file is None or not self.preferences:
            return opening
        from parley.client.reliability.taught import with_preferences

        try:
            async with asyncio.timeout(_LOOK_S):
                return await with_preferences(client, opening, self.file, calibration=self.calibration)
        except (ParleyError, BusError, TimeoutError) as error:
            _LOGGER.warning("past tasks teach nothing this time: %s", str(error) or f"that took {_LOOK_S:g} s")
            return opening

    def into(
        self,
        opening: OpenSession,
        kind: str | None = "",
        *,
        thresholds: Thresholds | None = None,
        now_ns: int | None = None,
    ) -> OpenSession:
        """The session with its kind, the members' records and the fit of its confidence, where these are used and the
        file has any. A question that a fit was made on is not read by that fit.

        Parameters
        ----------
        kind
            What kind of question it is, in a word of one's own; None or empty: none is named.
        thresholds
            Those of its settings that were learned; None: none were.
        now_ns
            Unix time; None: now.

        Raises
        ------
        BadInput
            The file cannot be read; the kind is none.
        """
        try:
            return with_records(
                opening,
                self.file,
                kind=_kind_of(kind),
                reliability=self.reliability,
                calibration=self.calibration,
                thresholds=thresholds,
                now_ns=now_ns,
            )
        except InvalidValue as error:
            raise BadInput("kind", str(error)) from error

    def applied(self, protocol: str, kind: str | None, seats: int) -> Thresholds | None:
        """The thresholds that were applied to this kind of question (parley thresholds apply); None: there are none.

        Parameters
        ----------
        seats
            Of the panel: a quorum of more seats is not taken.

        Raises
        ------
        BadInput
            The file cannot be read.
        """
        if self.file is None or not setup_of(protocol).learns:
            return None
        there = (found for found in store.read(self.file).thresholds if found.kind == _kind_of(kind))
        return next((found for found in there if found.quorum <= seats), None)


def _kind_of(kind: str | None) -> str:
    """The kind as a text. Raises BadInput where it is none."""
    if kind is not None and not isinstance(kind, str):
        raise BadInput("kind", f"got {kind!r}, expected a word")
    return kind or ""
