"""`parley experts`: specifications checked, enrolled with a bus that runs or not, and listed; a worker that is none of
them is refused."""

import asyncio
import contextlib
import json
import select
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from parley.agents import experts
from parley.agents.specs import SpecError, load
from parley.bus import rendered
from parley.bus.accounts import load_credentials
from parley.bus.connection import connect
from parley.bus.embedded import EmbeddedServer
from parley.bus.errors import WrongCredentials
from parley.bus_admin import enrol as enrolment
from parley.bus_admin import users
from parley.bus_admin.cluster import CONFIGURATION
from parley.bus_admin.config import bus_config
from parley.bus_admin.users import revoke
from parley.client.errors import BadInput, StackFailed, Unreachable
from parley.client.protocols.madp.setup import shipped_experts as shipped
from parley.schemas.expert import expert_of, pin, queue_of
from parley.schemas.presence import Announcement, ExpertHere, Workers
from parley.stack import keys
from parley.stack.lease import Lease, Stack
from parley.stack.queues.making import make_units
from parley.stack.rows import AgentRow, rows_of
from parley.stack.services import spec_of
from tests.parley.support import Front, until
from tests.security.test_users import serve

GARDENER = """\
agent:
  id: gardener
  name: Gardener
  version: "{version}"
  triggers: {{primary: [hedge, lawn]}}
  domain:
    owns: [plants and beds]
    defers: {{{defers}: what is theirs}}
  deliberation: {{claim: I look after whatever grows.}}
"""


def write(folder: Path, name: str = "gardener", version: str = "1.0.0", defers: str = "sre") -> Path:
    path = folder / f"{name}-{version}.yaml"
    path.write_text(
        GARDENER.format(version=version, defers=defers).replace("gardener", name).replace("grows", f"a {name} likes")
    )
    return path


def configure(folder: Path, port: int = 4222) -> Path:
    """A folder of keys and a configuration, as `parley bus config` writes them."""
    bus_config(
        folder, seats={"panel": 2, "debaters": 2, "team": 1, "audience": 0},
        moderators=1, clients=("client",), host="127.0.0.1", port=port,
        store=str(folder.parent / "store"), monitor="",
    )  # fmt: skip
    return folder / CONFIGURATION


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[EmbeddedServer]:
    """A server that reads what `parley bus config` wrote, again and again."""
    conf = configure(folder)
    with EmbeddedServer(folder.parent / "bus", (), {}) as server:
        serve(server, conf)
        yield server


async def taken(url: str, path: Path) -> bool:
    """Whether the bus takes these credentials."""
    try:
        await (await connect(url, load_credentials(path), name="t")).close()
    except WrongCredentials:
        return False
    return True


# ---------------------------------------------------------------- check


def test_files_and_folders_are_checked_at_once(tmp_path: Path) -> None:
    one, two = write(tmp_path), write(tmp_path, "plumber", defers="gardner")
    found = enrolment.check([tmp_path, one, experts.BUILTIN])
    assert found["ok"] and found["errors"] == [], "a file that is named twice is one expert"
    assert {row["id"] for row in found["experts"]} == {"gardener", "plumber", *(s.id for s in experts.builtin())}
    assert {row["file"] for row in found["experts"]} >= {str(one), str(two)}
    assert found["warnings"] == ["plumber: domain.defers: got 'gardner', did you mean gardener?"]
    lines = list(enrolment.check_words(found))
    assert lines[-1] == f"{2 + len(experts.builtin())} experts, 0 errors, 1 warning"


def test_what_cannot_be_used_is_named_and_the_rest_is_looked_at(tmp_path: Path) -> None:
    write(tmp_path)
    again = write(tmp_path, version="2.0.0")
    (tmp_path / "wrong.yaml").write_text("agent: {idd: x}\n")
    (tmp_path / "empty").mkdir()
    found = enrolment.check([tmp_path, tmp_path / "empty", tmp_path / "absent.yaml"])
    assert not found["ok"]
    assert [row["id"] for row in found["experts"]] == ["gardener"]
    twice, unknown, empty, absent = found["errors"]
    assert twice.startswith(f"{again}: id: got 'gardener', which ")
    assert "idd: no such field; did you mean id?" in unknown
    assert empty.endswith("has no specification (*.yaml, *.md, *.mdc)")
    assert "absent.yaml: cannot be read" in absent
    code, out, _ = Front(tmp_path).run("experts", "check", str(tmp_path / "wrong.yaml"))
    assert code == 2 and "idd: no such field" in out


# ---------------------------------------------------------------- enrol


def test_with_a_rendered_bus_that_runs_nobody_else_changes(tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    with serving(folder) as server:
        before = {p.name: p.read_bytes() for p in folder.glob("*.json")}
        inode = (folder / CONFIGURATION).stat().st_ino
        path = write(tmp_path)
        done = enrolment.enroll(folder, [path], server.url)
        row = done["enrolled"][0]
        spec = experts.load_spec(path)
        made = (row["id"], row["queue"], row["key"], done["bus"])
        assert made == ("gardener", "expert_gardener", "made", "read again")
        found = load_credentials(Path(row["credentials"]))
        assert (found.pin, found.role, found.account) == (pin(spec), "expert", "EXPERTS")
        assert Path(row["credentials"]).stat().st_mode & 0o777 == 0o600
        assert asyncio.run(taken(server.url, Path(row["credentials"])))
        assert asyncio.run(taken(server.url, folder / "owner.json"))
        assert {n: (folder / n).read_bytes() for n in before} == before
        assert (folder / CONFIGURATION).stat().st_ino == inode, "a container that has it mounted sees the change"
        # Again: its key is kept. Changed: pinned anew, by a new key, and the old one is out.
        assert enrolment.enroll(folder, [path], server.url)["enrolled"][0]["key"] == "kept"
        assert load_credentials(Path(row["credentials"])) == found
        old = tmp_path / "old.json"
        found.save(old)
        newer = enrolment.enroll(folder, [write(tmp_path, version="2.0.0")], server.url, replace=True)
        assert newer["enrolled"][0]["key"] == "replaced"
        assert asyncio.run(taken(server.url, Path(row["credentials"])))
        assert not asyncio.run(taken(server.url, old))
        # Put out, and enrolled once more.
        revoke(folder, server.url, "expert_gardener")
        assert not Path(row["credentials"]).exists()
        assert enrolment.enroll(folder, [path], server.url)["enrolled"][0]["key"] == "made"
        assert asyncio.run(taken(server.url, Path(row["credentials"])))


def test_writing_the_configuration_again_keeps_who_was_enrolled(tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    conf = configure(folder)
    changed = other_sre(tmp_path)
    done = enrolment.enroll(folder, [write(tmp_path), changed], replace=True)
    assert (done["bus"], done["configuration"]) == ("written", str(conf))
    assert [row["key"] for row in done["enrolled"]] == ["made", "replaced"]
    before, users = rendered.nkeys(json.loads(conf.read_text())), keys.everybody(folder)
    configure(folder)
    assert rendered.nkeys(json.loads(conf.read_text())) == before == {c.public for c in users.values()}
    assert keys.everybody(folder) == users
    assert users["expert_sre"].pin == pin(experts.load_spec(changed))


def test_nothing_is_half_done(tmp_path: Path) -> None:
    """Two of one id, a file that cannot be used, a folder that is none, keys that are not there, a bus that is not."""
    folder = tmp_path / "keys"
    conf = configure(folder)
    good = write(tmp_path)

    def state() -> dict[str, bytes]:
        return {p.name: p.read_bytes() for p in folder.iterdir()}

    before = state()
    with pytest.raises(BadInput, match=r"2.0.0.yaml: id: got 'gardener', which another of these files has already"):
        enrolment.enroll(folder, [good, write(tmp_path, version="2.0.0")])
    with pytest.raises(BadInput, match=r"absent\.yaml: cannot be read"):
        enrolment.enroll(folder, [good, tmp_path / "absent.yaml"])
    with pytest.raises(BadInput, match=r"no server's configuration at .*elsewhere"):
        enrolment.enroll(tmp_path / "elsewhere", [good])
    with pytest.raises(Unreachable, match="no NATS server answers"):
        enrolment.enroll(folder, [good], "nats://127.0.0.1:1")
    assert state() == before
    with serving(tmp_path / "other" / "keys") as another, pytest.raises((Unreachable, StackFailed)):
        enrolment.enroll(folder, [good], another.url)
    assert state() == before
    (folder / "panelist_1.json").unlink()
    with pytest.raises(BadInput, match=f"1 users of {conf} have no credentials beside it"):
        enrolment.enroll(folder, [good])
    assert {**state(), "panelist_1.json": before["panelist_1.json"]} == before


class Cutting:
    """Between a server and whoever connects here: the first connections that ask for a reload are cut once the server
    has answered, and so has read its configuration."""

    def __init__(self, port: int, cuts: int) -> None:
        self.port, self.cuts = port, cuts
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"nats://127.0.0.1:{self._listening.getsockname()[1]}"
        self._threads = [threading.Thread(target=self._serve)]

    def __enter__(self) -> "Cutting":
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._listening.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                self._threads.append(threading.Thread(target=self._meet, args=(client,)))
                self._threads[-1].start()

    def _meet(self, client: socket.socket) -> None:
        with client, socket.create_connection(("127.0.0.1", self.port)) as theirs, contextlib.suppress(OSError):
            while True:
                for one in select.select([client, theirs], [], [])[0]:
                    data = one.recv(65_536)
                    if not data:
                        return
                    (theirs if one is client else client).sendall(data)
                    if one is client and b".RELOAD " in data and self.cuts > 0:
                        self.cuts -= 1
                        theirs.recv(65_536)
                        return


@pytest.mark.parametrize(
    ("cuts", "said"),
    [
        (2, ""),
        (users._TRIES, "nothing was changed: the server has read the former configuration again"),
        (1_000, r"the server may still have the change \(.*\): have it read .* again \(SIGHUP twice\)"),
    ],
)
def test_a_connection_that_breaks_as_the_server_reads_leaves_nobody_half_in(
    tmp_path: Path, cuts: int, said: str
) -> None:
    folder = tmp_path / "keys"
    with serving(folder) as server:
        first = enrolment.enroll(folder, [write(tmp_path)], server.url)["enrolled"][0]
        before = {p.name: p.read_bytes() for p in folder.iterdir()}
        with Cutting(server.port, cuts) as cutting:
            newer = [write(tmp_path, version="2.0.0")]
            if not said:
                assert enrolment.enroll(folder, newer, cutting.url, replace=True)["bus"] == "read again"
                assert asyncio.run(taken(server.url, Path(first["credentials"])))
                return
            with pytest.raises((Unreachable, StackFailed), match=said):
                enrolment.enroll(folder, newer, cutting.url, replace=True)
        assert {p.name: p.read_bytes() for p in folder.iterdir()} == before
        if cuts < 1_000:
            assert asyncio.run(taken(server.url, Path(first["credentials"]))), "the former key is the one that counts"


def other_sre(folder: Path) -> Path:
    """The shipped expert in another version."""
    own = folder / "sre.yaml"
    own.write_text((experts.BUILTIN / "sre.yaml").read_text().replace('version: "1.0.0"', 'version: "9.0.0"'))
    return own


def test_who_would_come_in_anothers_place_is_refused_until_it_is_said(tmp_path: Path) -> None:
    front, own = Front(tmp_path), other_sre(tmp_path)
    was, pinned = pin(next(s for s in experts.builtin() if s.id == "sre")), pin(experts.load_spec(own))
    told = f"sre is a shipped expert (version 1.0.0, pin {was}), this is version 9.0.0, pin {pinned}"
    code, out, err = front.run("experts", "enroll", str(own))
    assert (code, out) == (2, "") and told in err and "--replace" in err
    code, out, err = front.run("experts", "enroll", str(own), "--replace")
    assert code == 0 and f"{told}: a worker that serves the older ends" in out, err
    assert front.run("experts", "enroll", str(own))[0] == 0, "it is the one that is enrolled"
    one, two = write(tmp_path), write(tmp_path, version="2.0.0")
    done = front.json("experts", "enroll", str(one), "--json")
    assert (done["enrolled"][0]["replaces"], done["bus"]) == ("", "at its start")
    code, _, err = front.run("experts", "enroll", str(two))
    assert code == 2 and f"gardener is enrolled with another specification (pin {pin(experts.load_spec(one))})" in err
    assert states(front)["gardener"] == ("enrolled", "")
    with Lease(Stack(agents=(AgentRow(queue="analyst"),)), front.state) as lease:
        assert asyncio.run(taken(lease.url, Path(done["enrolled"][0]["credentials"])))


# ---------------------------------------------------------------- an embedded stack


@contextlib.contextmanager
def worker(front: Front, spec: Path, url: str, creds: Path) -> Iterator[subprocess.Popen[str]]:
    child = front.start("agent", str(spec), "--nats", url, "--creds", str(creds))
    try:
        yield child
    finally:
        child.kill()
        child.communicate()


def ended(child: subprocess.Popen[str]) -> tuple[int, str]:
    _, err = child.communicate(timeout=20)
    return child.returncode, err


def states(front: Front) -> dict[str, tuple[str, str]]:
    return {r["id"]: (r["state"], r["version"]) for r in front.json("experts", "list", "--json")["experts"]}


@pytest.mark.slow
def test_enrolled_while_a_stack_runs_an_expert_starts_and_stays_enrolled(tmp_path: Path) -> None:
    front = Front(tmp_path)
    stack = Stack(agents=(AgentRow(queue="helper"), AgentRow(queue="expert_sre")))
    one, two = write(tmp_path), write(tmp_path, version="2.0.0")

    def comes_to(state: str, version: str = "") -> None:
        until(lambda: states(front).get("gardener") == (state, version), lambda: f"{states(front)}")

    with Lease(stack, front.state, wait_ready=True) as lease:
        assert states(front) == {"sre": ("running", "1.0.0")}
        done = front.json("experts", "enroll", str(one), "--json")
        creds = Path(done["enrolled"][0]["credentials"])
        assert done["bus"] == "read again"
        assert states(front)["gardener"] == ("enrolled", "")
        with worker(front, one, lease.url, creds) as older:
            comes_to("running", "1.0.0")
            # Nobody else is out, and a crash of the server brings nobody back or out.
            lease.kill("nats")
            until(lambda: lease.running().services["nats"].starts == 2, lambda: "the server is gone")
            until(lambda: states(front) == {"gardener": ("running", "1.0.0"), "sre": ("running", "1.0.0")}, lambda: "")
            # With another specification it does not run, and says what to do.
            with worker(front, two, lease.url, creds) as other:
                code, err = ended(other)
            assert code == 2 and "expert gardener" in err and "parley experts enroll" in err
            # Enrolled anew, who serves the older one is out.
            assert front.json("experts", "enroll", str(two), "--replace", "--json")["enrolled"][0]["key"] == "replaced"
            code, err = ended(older)
            assert code == 1, err
        with worker(front, two, lease.url, creds) as newer:
            comes_to("running", "2.0.0")
            newer.terminate()
            comes_to("enrolled")
            assert ended(newer)[0] == 0
    # With another stack in the same folder it is enrolled still.
    assert states(front)["gardener"] == ("enrolled", "")
    with Lease(Stack(agents=(AgentRow(queue="expert_ux-designer"),)), front.state, wait_ready=True) as lease:
        assert asyncio.run(taken(lease.url, creds))
        assert (states(front)["ux-designer"][0], states(front)["sre"][0]) == ("running", "enrolled")
    front.assert_nothing_left()


# ---------------------------------------------------------------- list, rows, specs


def test_the_list_has_copies_together_and_enrolled_ones_beside() -> None:
    def here(name: str, model: str, busy: int = 0) -> Announcement:
        return Announcement(
            instance=f"{name}{model}", queue=queue_of(name), roles=("expert",), family="f", busy=busy, model=model
        )

    known = tuple(ExpertHere(id=n, name=n.upper(), version="1", pin=f"{n}-pin") for n in ("dba", "sre"))
    workers = (here("sre", "a", 1), here("sre", "b", 2), here("dba", "a"))
    there = Workers(workers=workers, experts=known, listening_s=3.0)
    rows = enrolment._listed(there, {"expert_sre": "sre-pin", "expert_ux": "ux-pin"})
    assert [(r.id, r.state, r.copies, r.busy, r.model) for r in rows] == [
        ("dba", "running", 1, 0, "a"), ("sre", "running", 2, 3, "a, b"), ("ux", "enrolled", 0, 0, ""),
    ]  # fmt: skip
    lines = list(enrolment.list_words(rows))
    assert "a, b (2 copies)" in lines[1]
    assert lines[-1] == "2 running, 1 enrolled and not running"


def test_madp_has_a_helper_a_check_and_every_shipped_expert() -> None:
    queues = [queue_of(spec.id) for spec in experts.builtin()]
    assert shipped() == queues, "a file is named as its expert"
    assert [spec_of(row).queue for row in rows_of("madp")] == [*queues, "helper", "check"]


def test_an_experts_file_is_an_agent_and_an_agent_file_names_none(tmp_path: Path) -> None:
    path = write(tmp_path)
    found = load(str(path))
    assert (found.queue, found.roles, found.expert) == ("expert_gardener", ("expert",), experts.load_spec(path))
    assert found.pin == pin(experts.load_spec(path))
    assert load("expert_sre").pin == pin(next(s for s in experts.builtin() if s.id == "sre"))
    (tmp_path / "agent.yaml").write_text("queue: expert_gardener\nroles: [expert]\nexpert: {id: gardener}\n")
    (tmp_path / "wrong.yaml").write_text("agent: {id: 3}\n")
    for name, why in (
        ("expert_nobody", "no such file, and no built-in agent"), ("expert", "no such file, and no built-in agent"),
        (str(tmp_path / "agent.yaml"), "expert: no such field"),
        (str(tmp_path / "wrong.yaml"), r"wrong\.yaml: name: it is missing"),
    ):  # fmt: skip
        with pytest.raises(SpecError, match=why):
            load(name)
    with pytest.raises(SpecError, match="id: got 'gardener', whose queue is not expert_sre"):
        spec_of(AgentRow(queue="expert_sre", spec=str(path)))


def test_an_expert_with_another_specification_has_another_queue(tmp_path: Path) -> None:
    own = other_sre(tmp_path)
    rows = [AgentRow(queue="expert_sre", spec=spec) for spec in (str(own), "")]
    mine, shipped = (make_units([row], {}, b"s")[0].unit.members[0] for row in rows)
    assert (mine.role, mine.pin) == ("expert", pin(experts.load_spec(own))) and expert_of(mine.variant) == "sre"
    assert (bool(mine.identity), shipped.identity, shipped.pin) == (True, "", "")
