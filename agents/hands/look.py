"""Whether an agent can be started here: it is, in the sandbox, with an empty folder, and asked for nothing but what it
is."""

import asyncio
import tempfile
from pathlib import Path

from parley.agents.hands.catalogue import Hand
from parley.agents.hands.hand import URL, lay_out, start

_SECONDS = 60.0
_SHOWN = 200


async def try_out(hand: Hand) -> tuple[bool, str]:
    """(whether it starts; what it says that it is, or what is wrong)."""
    values = {"url": URL, "token": "none", "model": hand.model or "none", "prompt": "", "prompt_file": ""}
    with tempfile.TemporaryDirectory(prefix="parley-hands-", ignore_cleanup_errors=True) as outer:
        root, turn = Path(outer, "task"), Path(outer, "turn")
        root.mkdir()
        turn.mkdir()
        if hand.acp:
            return await _greeted(hand, root, turn, values)
        argv = hand.version or (hand.argv[0], "--version")
        lay_out(turn, hand, argv, values, reads_it=False)
        ran = await start(hand, root, turn, values, _SECONDS)
    said = (ran.output.strip() or ran.errors.strip()).splitlines()
    if ran.exit == 0:
        return True, said[0][:_SHOWN] if said else "it starts"
    return False, ran.ended or f"{argv[0]}: exit {ran.exit}{f': {said[-1][:_SHOWN]}' if said else ''}"


async def _greeted(hand: Hand, root: Path, turn: Path, values: dict[str, str]) -> tuple[bool, str]:
    """The same of an agent that is spoken with."""
    try:
        from parley.agents.hands.acp_session import AcpSession
    except ImportError:
        return False, "the Agent Client Protocol is an extra: pip install 'parley[acp]'"
    lay_out(turn, hand, hand.argv, values, reads_it=False)
    session = AcpSession(hand, "", lambda text: None, asyncio.Event(), _SECONDS, "")
    ran = await start(hand, root, turn, values, _SECONDS, talk=session.look)
    if session.agent and not session.failed:
        return True, session.agent
    last = ran.errors.strip().splitlines()
    return False, f"{ran.ended or session.failed}{f': {last[-1][:_SHOWN]}' if last else ''}"
