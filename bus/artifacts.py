"""The object store: artifacts of sessions by the hash of their content, in a stream that only moderators touch.

One message an object. The stream keeps the first message of a subject and refuses a second, so that nothing is ever
overwritten; the same bytes stored twice are stored once. Everybody else asks a moderator (`put`, `get`).
"""

import json
from hashlib import sha256

from parley.bus import subjects
from parley.bus.channels import PUBLIC, stores_on
from parley.bus.cluster.patience import Patience
from parley.bus.connection import Connection
from parley.bus.errors import ArtifactRefused, Conflict, ModeratorsBusy
from parley.bus.storage import direct
from parley.bus.streams import ARTIFACTS
from parley.schemas.artifact import MAX_ARTIFACTS, GetArtifact, GotArtifact, PutArtifact, TakeArtifact
from parley.schemas.turn import SubmitAnswer
from parley.schemas.wire import InvalidValue, Undecodable, decode, encode

_GET = f"$JS.API.DIRECT.GET.{ARTIFACTS}"
_ASK_S = 5.0


class Artifacts:
    """The store, over one connection of a moderator."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def put(self, sid: str, data: bytes) -> str:
        """Store bytes; their id.

        Raises
        ------
        InvalidValue
            The session has MAX_ARTIFACTS already. Of two that store at once both may find room for the last.
        BusError
            It may be stored or not: repeat it.
        """
        id = sha256(data).hexdigest()
        subject = subjects.artifact(sid, id)
        info = await self._connection.api(
            f"STREAM.INFO.{ARTIFACTS}", {"subjects_filter": subjects.artifact.of(session=sid)}
        )
        counts = info["state"].get("subjects") or {}
        if subject in counts:
            return id
        if len(counts) >= MAX_ARTIFACTS:
            raise InvalidValue("artifacts", len(counts) + 1, f"a session has at most {MAX_ARTIFACTS}")
        try:
            await self._connection.store(subject, data, expected_last=(subject, 0))
        except Conflict:
            pass  # stored meanwhile: the same bytes
        return id

    async def ids(self, sid: str) -> list[str]:
        """Of the artifacts that a session has."""
        info = await self._connection.api(
            f"STREAM.INFO.{ARTIFACTS}", {"subjects_filter": subjects.artifact.of(session=sid)}
        )
        return sorted(subject.rpartition(".")[2] for subject in info["state"].get("subjects") or {})

    async def get(self, sid: str, id: str) -> bytes | None:
        """The bytes; None if the session has no such artifact."""
        subject = subjects.artifact(sid, id)
        msg = await self._connection.request(_GET, json.dumps({"last_by_subj": subject}).encode(), _ASK_S)
        if not (msg.headers or {}).get("Status"):
            return msg.data
        if not self._connection.clustered:
            return None
        stored = await direct.last(self._connection, ARTIFACTS, subject)  # the server that answered may be behind
        return None if stored is None else stored.data


async def put(
    connection: Connection,
    sid: str,
    data: bytes,
    *,
    turn: str = "",
    token: str = "",
    patience_s: float = 30.0,
    outlasts: bool = False,
) -> str:
    """Have a moderator store bytes, as a client or for an open turn; their id. Repeating it is fine.

    `outlasts`: `patience_s` does not run while servers of the bus are away (parley.bus.cluster.patience).

    Raises
    ------
    InvalidValue
        More than parley.schemas.artifact.MAX_ARTIFACT bytes.
    ArtifactRefused
        Not one's own session, not one's open turn, or too many.
    BusError
        No moderator answered for `patience_s`, or each was busy.
    """
    credentials = connection.credentials
    body = encode(PutArtifact(data=data, turn=turn, token=token))
    await _request(
        connection, subjects.put(stores_on(credentials.account), credentials.user, sid), body, patience_s, outlasts
    )
    return sha256(data).hexdigest()


async def get(connection: Connection, sid: str, id: str, *, patience_s: float = 30.0, outlasts: bool = False) -> bytes:
    """Have a moderator send an artifact; its bytes, checked against its id. Raises as `put`."""
    body, own_subject = encode(GetArtifact(id=id)), subjects.get(PUBLIC, sid)
    granted = () if connection.credentials.row.sees_all else connection.credentials.reads
    for subject in (own_subject, *(subjects.owned(owner, own_subject) for owner in granted)):
        answer = decode(await _request(connection, subject, body, patience_s, outlasts), GotArtifact)
        if answer.found and sha256(answer.data).hexdigest() == id:
            return answer.data
    raise ArtifactRefused(f"session {sid} has no artifact {id}")


async def take(connection: Connection, sid: str, id: str, *, turn: str, token: str, patience_s: float = 30.0) -> bytes:
    """Have a moderator send an artifact that one's open turn names; its bytes, checked against its id. Raises as
    `put`."""
    body = encode(TakeArtifact(id=id, turn=turn, token=token))
    subject = subjects.take(PUBLIC, connection.credentials.user, sid)
    answer = decode(await _request(connection, subject, body, patience_s), GotArtifact)
    if answer.found and sha256(answer.data).hexdigest() == id:
        return answer.data
    raise ArtifactRefused(answer.why or f"session {sid} has no artifact {id}")


async def _request(
    connection: Connection, subject: str, body: bytes, patience_s: float, outlasts: bool = False
) -> bytes:
    """Ask until somebody answers who is not busy. Raises ArtifactRefused with the moderator's words."""

    async def ask() -> bytes:
        data = (await connection.request(subject, body, _ASK_S)).data
        try:
            said = decode(data, SubmitAnswer)
        except Undecodable:
            return data
        if said.verdict == "busy":
            raise ModeratorsBusy()
        if said.verdict != "accepted":
            raise ArtifactRefused(said.why)
        return data

    return await Patience(connection.nc, patience_s, outlasts=outlasts).asked(ask)
