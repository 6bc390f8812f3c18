"""The posts of a session that a reader gets who is no owner: those on the channels of the credentials."""

from pathlib import Path

from parley.bus.accounts import OWNER as OWNER_KIND
from parley.bus.channels import readable_by
from parley.bus.errors import BusError, EnvironmentFault, UnknownSession
from parley.client.api import CONNECT_S, connected, read_credentials
from parley.client.errors import BadInput, Refusal, Unreachable
from parley.client.view.fold import Fold, fold_log


def owns(creds: Path | None) -> bool:
    """Whether a credentials file for a bus that runs elsewhere is an owner's. Raises BadInput."""
    return read_credentials(creds).kind == OWNER_KIND


async def posts(url: str, creds: Path | None, sid: str) -> Fold:
    """A session's posts on the channels that a credentials file reads: a client's, or those of a seat.

    Raises
    ------
    BadInput
        There is no such session, or the credentials read nothing.
    Refusal
        The session was refused.
    Unreachable
        The bus, or a moderator, does not answer.
    """
    from parley.bus.posts import Reader

    credentials = read_credentials(creds)
    channels = readable_by(credentials.account)
    if not channels:
        raise BadInput("creds", f"those of {credentials.user!r}, of kind {credentials.kind}, read no channel")
    try:
        async with await connected(url, credentials, "parley") as connection:
            reader = Reader(connection, patience_s=2 * CONNECT_S)
            try:
                history = [post for channel in channels for post in await reader.history(sid, channel)]
            except EnvironmentFault as error:
                lacking = connection.nc.lacking
                raise Unreachable(f"{error.plain}; {lacking}" if lacking else str(error)) from error
    except UnknownSession as error:
        if error.why:
            raise Refusal("session", str(error)) from None
        limited = "" if credentials.row.sees_all else f", or it is none that {credentials.user!r} may read"
        raise BadInput("session", f"there is no session {sid} in {url}{limited}") from None
    except BusError as error:
        raise Unreachable(str(error)) from error
    history.sort(key=lambda p: p.n)
    return fold_log(sid, posts=history)
