"""Sessions of all protocols on three supervised servers, with the moments at which their users heard something."""

import json
import time
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import msgspec

from parley.client.errors import StackFailed
from parley.schemas.post import Post
from parley.schemas.session import Seat
from parley.stack.rows import AgentRow, Stack
from parley_research.embedded_cluster import FOLDER, PORTS, REACHED_AT
from tests.chaos import tasks
from tests.chaos.harness import CONSENSUS, MODEL, Play, Rig, critic, maci, make_stack
from tests.support.links import Links

SERVERS = 3
TURN_S = 180.0
"""A turn's time: no case makes one wait so long."""
WINDOW_S = 60.0
"""So long claims are waited for; everybody's end the wait."""


def plays() -> tuple[Play, ...]:
    """One kind of each of four protocols."""
    kinds = (CONSENSUS, maci(), critic(), tasks.claimed())
    return tuple(_patient(p) for p in kinds)


def _patient(play: Play) -> Play:
    settings = play.request.settings
    if "claim_window_s" in settings:
        settings = {**settings, "claim_window_s": WINDOW_S, "coordination_s": TURN_S}
    request = msgspec.structs.replace(play.request, turn_timeout_s=TURN_S, settings=settings)
    return msgspec.structs.replace(play, request=request)


def stack(folder: Path, links: Links, kinds: Iterable[Play]) -> Stack:
    """Three servers, two moderators, and one copy of each agent that one of the kinds needs, in few processes."""
    kinds = tuple(kinds)
    experts = tuple(p for p in kinds if p.experts)
    wanted = {row.queue: row for row in tasks.rows(*experts)} if experts else {}
    rows = tuple(wanted.get(q, AgentRow(queue=q, room=16)) for q in dict.fromkeys(q for p in kinds for q in p.queues))
    made = make_stack(folder, moderators=2, latency_s=0.05, agents=rows)
    together = tuple(msgspec.structs.replace(row, process=f"seats{i % 3}") for i, row in enumerate(made.agents))
    assert all(row.model == MODEL for row in together)
    environment = {**made.env, REACHED_AT: ",".join(map(str, links.ports))}
    bus = "parley_research.embedded_cluster:supervised"
    return msgspec.structs.replace(made, agents=together, bus=bus, env=environment)


class ClusterRig(Rig):
    """A rig whose servers' routes go through `links`."""

    def __init__(self, folder: Path, links: Links, kinds: tuple[Play, ...]) -> None:
        super().__init__(folder, stack(folder, links, kinds), kinds)
        self.heard: dict[str, list[float]] = {}
        """Session -> when its user did or heard something (monotonic)."""
        links.lead_to(self.route_ports, self.server_pids)

    def route_ports(self) -> list[int]:
        """The servers' own."""
        return [int(p) for p in json.loads((self.lease.state / FOLDER / PORTS).read_bytes())[SERVERS:]]

    def server_pids(self) -> list[int]:
        """Process ids, 0 for one that does not run."""
        try:
            services = self.lease.running().services
        except StackFailed:
            return [0] * SERVERS
        return [services[name].pid if name in services else 0 for name in (f"nats-{i + 1}" for i in range(SERVERS))]

    async def play(
        self, sid: str, seed: int, play: Play | None = None, seats: tuple[Seat, ...] = (),
        settings: dict[str, object] | None = None,
    ) -> None:  # fmt: skip
        """As the rig's; it is noted when the session's user heard something."""
        self.heard[sid] = [time.monotonic()]
        try:
            await super().play(sid, seed, play, seats, settings)
        finally:
            if sid in self.refused:
                del self.heard[sid]
        self.heard[sid].append(time.monotonic())

    def hears(self, sid: str, post: Post) -> None:
        self.heard[sid].append(time.monotonic())

    def silence(self, since: float, until: float) -> float:
        """The longest time for which one user heard nothing, of those that touch this span."""
        longest = 0.0
        for times in self.heard.values():
            for a, b in pairwise(times):
                if b > since and a < until:
                    longest = max(longest, b - a)
        return longest

    def waiting(self, now: float) -> float:
        """How long the one user of a session under way waits who heard nothing for longest."""
        open_ = [times for sid, times in self.heard.items() if sid not in self.followed]
        return max((now - times[-1] for times in open_), default=0.0)
