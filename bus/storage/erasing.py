"""Messages of a stream overwritten and removed.

A purge by subject takes messages out of the stream and leaves their bytes in its file. The removal of one message by
its sequence overwrites them, on each server that has the stream (nats-server 2.15.1, measured). So what is to be gone
is removed one by one. What was acknowledged in WORK or IN before has no sequence any more: its bytes go with their
file, once no message in it waits, and at the latest when the stream's age limit is over. The journal of a cluster keeps
its copy until the servers write their state down: some two minutes.
"""

from parley.bus.connection import Connection
from parley.bus.errors import ApiError

_NO_MESSAGE, _NOT_FOUND = 10037, 10057
"""err_code: there is no such message, to be read and to be removed."""


async def erase(conn: Connection, stream: str, only: str, before: int | None = None) -> int:
    """Overwrite and remove the messages of a subject, which may have wildcards; how many there were. A repeat goes on
    where a killed one ended.

    Parameters
    ----------
    before
        Messages from this sequence on stay.
    """
    erased = seq = 0
    while True:
        try:
            found = await conn.api(f"STREAM.MSG.GET.{stream}", {"seq": seq + 1, "next_by_subj": only})
        except ApiError as error:
            if error.err_code == _NO_MESSAGE:
                return erased
            raise
        seq = int(found["message"]["seq"])
        if before is not None and seq >= before:
            return erased
        await remove(conn, stream, seq)
        erased += 1


async def remove(conn: Connection, stream: str, seq: int) -> None:
    """Overwrite and remove one message. One that is gone already is fine."""
    try:
        await conn.api(f"STREAM.MSG.DELETE.{stream}", {"seq": seq})
    except ApiError as error:
        if error.err_code != _NOT_FOUND:
            raise
