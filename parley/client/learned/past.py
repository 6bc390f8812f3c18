"""How sessions use past outcomes: the same for the command line, the gateway and the Python API."""

import asyncio
import logging
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from parley.bus.errors import BusError
from parley.client.errors import BadInput, ParleyError, bad_input
from parley.client.learned import store
from parley.client.learned.verdicts import question_hash
from parley.client.protocols import setup_of
from parley.client.text import line
from parley.schemas.past_sessions.learned import Learned, Thresholds
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
class PastOutcomes:
    """What was learned, and how it enters a session."""

    file: Path | None = None
    """As parley.client.learned.store keeps it; None: nothing is known."""

    def of_folder(self, opening: OpenSession, folder: Path, project: str) -> OpenSession:
        """The task with the name of its folder, by which it is known to those that come after it. `project`: as
        parley.client.learned.memory names the folder."""
        if self.file is None:
            return opening
        named = line(folder.resolve().name.encode(errors="replace").decode(), MOST_NAME)
        learned = msgspec.structs.replace(opening.learned or Learned(), folder=f"{named}@{project}")
        return msgspec.structs.replace(opening, learned=learned)

    async def taught(self, client: "Client", opening: OpenSession) -> OpenSession:
        """The task with what past tasks of its folder say, as far as that can be read in time."""
        if self.file is None:
            return opening
        from parley.client.learned.taught import with_preferences

        try:
            async with asyncio.timeout(_LOOK_S):
                return await with_preferences(client, opening, self.file)
        except (ParleyError, BusError, TimeoutError) as error:
            _LOGGER.warning("past tasks teach nothing this time: %s", str(error) or f"that took {_LOOK_S:g} s")
            return opening

    def known(self) -> store.Store:
        """What the file holds. Raises BadInput."""
        return store.Store() if self.file is None else store.read(self.file)

    def into(
        self,
        opening: OpenSession,
        known: store.Store,
        kind: str | None = "",
        *,
        thresholds: Thresholds | None = None,
    ) -> OpenSession:
        """The session with its kind, the members' records and the fit of its confidence, where something is
        known. A question that a fit was made on is not read by that fit, and what is known of the question
        at hand is left out.

        Parameters
        ----------
        known
            As `known` gives it.
        kind
            What kind of question it is, in a word of one's own; None or empty: none is named.
        thresholds
            Those of its settings that were learned; None: none were.

        Raises
        ------
        BadInput
            The kind is none.
        """
        with bad_input("kind", InvalidValue):
            learned = Learned(kind=_kind_of(kind), thresholds=thresholds or msgspec.UNSET)
        if known.verdicts:
            from parley.client.learned.verdicts import table

            records = table(known.verdicts, now_ns=time.time_ns(), question=opening.question)
            if records.rows:
                learned = msgspec.structs.replace(learned, reliability=records)
        fits = [fit for fit in known.calibrations if fit.protocol in ("", opening.protocol)]
        at_hand = question_hash(opening.question)
        if fits and all(said.question != at_hand for said in known.verdicts):
            learned = msgspec.structs.replace(learned, calibration=fits[-1])
        return opening if learned == Learned() else msgspec.structs.replace(opening, learned=learned)


def applied(known: store.Store, protocol: str, kind: str | None, seats: int) -> Thresholds | None:
    """The thresholds that were applied to this kind of question (parley thresholds apply); None: there are none.
    `seats`: of the panel: a quorum of more seats is not taken."""
    if not setup_of(protocol).learns:
        return None
    there = (found for found in known.thresholds if found.kind == _kind_of(kind))
    return next((found for found in there if found.quorum <= seats), None)


def _kind_of(kind: str | None) -> str:
    """The kind as a text. Raises BadInput where it is none."""
    if kind is not None and not isinstance(kind, str):
        raise BadInput("kind", f"got {kind!r}, expected a word")
    return kind or ""
