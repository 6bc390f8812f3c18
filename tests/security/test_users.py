"""A user is put out of a running bus, and its certificate is renewed, while debates run."""

import asyncio
import json
import re
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from parley.bus import accounts, rendered
from parley.bus.accounts import publics, table
from parley.bus.cluster import certificates
from parley.bus.connection import connect
from parley.bus.embedded import EmbeddedServer
from parley.bus.errors import BadTable, WrongCredentials
from parley.bus_admin.cluster import CONFIGURATION
from parley.bus_admin.config import bus_config, tenant
from parley.bus_admin.users import reload, revoke, rotate, user_words
from parley.client.errors import BadInput, StackFailed, Unreachable
from parley.coordinator.outcomes.bus_state import BusState
from parley.doctor.checks import _certificate_words
from parley.observability.outcomes import Outcomes
from parley.schemas.result import Result
from parley.schemas.wire import decode
from parley.stack import keys
from parley.stack.lease import read_running
from tests.outcomes.test_bus_state import free_port
from tests.parley.support import QUESTION, Front
from tests.support.engine import Engine, until

SEATS = {"panel": 2, "debaters": 2, "team": 1, "audience": 0}
while_it_runs = pytest.mark.serial
"""A server is killed and started again under connections that come back, or turns pass their deadlines."""


class Kept(Engine):
    """An engine whose keys and configuration lie on disk, as `parley bus config` writes them."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "bus")
        self.users = table(self.queues, clients=("client", "guest"))
        self.keys = folder / "keys"
        self.credentials = keys.ensure(self.keys, self.users)
        conf = self.keys / CONFIGURATION
        conf.write_text(rendered.render(self.users, publics(self.credentials), store_dir=folder / "bus"))
        self.server = EmbeddedServer(folder / "bus", (), {})
        serve(self.server, conf)
        serve(self.server, conf)  # at the port that it has now


@while_it_runs
async def test_a_user_is_put_out_while_sessions_go_on(tmp_path: Path) -> None:
    async with Kept(tmp_path) as engine:
        await engine.moderator()
        await engine.workers({"latency_s": 0.3})
        closed: list[str] = []
        guest = await connect(
            engine.server.url, engine.credentials["guest"], name="guest", on_closed=lambda: closed.append("guest")
        )
        sessions = [f"s{i}" for i in range(4)]
        for sid in sessions:
            assert (await engine.open(sid, settings={"round_limit": 3})).fate == "taken"
        assert not await engine.posts("s0", "scores"), "they run"
        done = await asyncio.to_thread(revoke, engine.keys, engine.server.url, "guest")
        assert done == {"user": "guest", "bus": "read again", "configuration": str(engine.keys / CONFIGURATION)}
        assert user_words(done) == f"guest: its key is removed; the bus has read it: {done['configuration']}"
        await until(lambda: closed == ["guest"])
        for sid in sessions:
            result = decode((await engine.closed(sid, 20.0)).body, Result)
            assert result.status == "finished", sid
        # Nor does a crash of the server bring him back.
        engine.server.kill()
        engine.server.start()
        with pytest.raises(WrongCredentials):
            await connect(engine.server.url, engine.credentials["guest"], name="guest")
        await guest.close()


@while_it_runs
@pytest.mark.slow
async def test_a_revoked_worker_of_a_stack_is_not_started_again(tmp_path: Path) -> None:
    """It is said once, and whoever asks for that seat is told so."""
    front = Front(tmp_path)
    up = front.start("up", "--json")
    try:
        assert up.stdout is not None
        await asyncio.to_thread(up.stdout.readline)
        keys_of = str(front.state / "keys")
        code, _, err = await asyncio.to_thread(front.run, "bus", "user", "revoke", "panelist_3", "--dir", keys_of)
        assert code == 0, err

        async def given_up() -> bool:
            running = read_running(front.state)
            return running is not None and running.ready and "panelist_3-1" not in running.services

        await until(given_up, 20.0)
        code, out, err = await asyncio.to_thread(
            front.run, "ask", QUESTION, "--evidence", str(front.evidence), "--json", "--turn-timeout", "2"
        )
        assert code == 1 and "panelist_3-1 cannot be started" in json.loads(out)["error"]["message"], out
        assert await given_up(), "all this time"
    finally:
        up.terminate()
        _, err = await asyncio.to_thread(up.communicate)
    told = [text for text in err.splitlines() if text.startswith("panelist_3-1: ")]
    assert len(told) == 1, err
    assert told[0].endswith("it is not started again") and "Traceback" not in err
    front.assert_nothing_left()


async def test_a_fresh_key_lets_him_in_again(tmp_path: Path) -> None:
    """As `parley bus config` writes it, and again after it was revoked."""
    folder = tmp_path / "keys"

    def configure(port: int) -> None:
        bus_config(
            folder, seats=SEATS,
            moderators=1, clients=("client", "guest"), host="127.0.0.1",
            port=port, store=str(tmp_path / "store"), monitor="",
        )  # fmt: skip

    configure(4222)
    path = folder / CONFIGURATION
    inode = path.stat().st_ino
    before = accounts.load_credentials(keys.file(folder, "guest"))
    with EmbeddedServer(tmp_path / "bus", (), {}) as server:  # which reads what the command wrote
        serve(server, path)
        async with await connect(server.url, before, name="t") as guest:
            assert guest.connected
        await asyncio.to_thread(revoke, folder, server.url, "guest")
        assert not keys.file(folder, "guest").exists()
        assert before.public not in path.read_text()
        with pytest.raises(WrongCredentials):
            await connect(server.url, before, name="t")
        configure(server.port)
        after = accounts.load_credentials(keys.file(folder, "guest"))
        assert after.public != before.public
        server.kill()
        serve(server, path)
        async with await connect(server.url, after, name="t") as guest:
            assert guest.connected
        with pytest.raises(WrongCredentials):
            await connect(server.url, before, name="t")
    assert path.stat().st_ino == inode, "a container that has it mounted sees the same file"


def serve(server: EmbeddedServer, path: Path) -> None:
    """Have the server read a file that it did not write."""
    server.stop()
    config = json.loads(path.read_text())
    extra = {"port": server.port or -1, "ports_file_dir": str(server.folder), "log_file": str(server.log_path)}
    path.write_text(json.dumps({**config, **extra}))
    server.folder.mkdir(exist_ok=True)
    server.config_path.unlink(missing_ok=True)
    server.config_path.symlink_to(path)
    server._write_config = lambda: None  # type: ignore[method-assign]
    server.start()


async def test_what_cannot_be_revoked_is_named_and_the_operators_own_key_is_rotated(tmp_path: Path) -> None:
    async with Kept(tmp_path) as engine:
        url = engine.server.url
        for _ in range(2):  # it is the one by which the server is told of it
            before = accounts.load_credentials(keys.file(engine.keys, "operator"))
            assert (await asyncio.to_thread(rotate, engine.keys, url, "operator"))["bus"] == "read again"
            with pytest.raises(WrongCredentials):
                await connect(url, before, name="t")

        async def refused(kind: type[Exception], words: str, address: str, folder: Path, name: str) -> None:
            with pytest.raises(kind, match=words):
                await asyncio.to_thread(revoke, folder, address, name, 2.0)

        await refused(BadInput, "operator", url, engine.keys, "operator")
        await refused(BadInput, "no credentials of 'nobody'", url, engine.keys, "nobody")
        await refused(Unreachable, "no NATS server", "nats://127.0.0.1:1", engine.keys, "guest")
        # A configuration that this server does not read.
        other = tmp_path / "other"
        other.mkdir()
        for name in ("operator", "guest"):
            accounts.load_credentials(keys.file(engine.keys, name)).save(keys.file(other, name))
        (other / CONFIGURATION).write_bytes(engine.server.config_path.read_bytes())
        await refused(StackFailed, "still takes the key of 'guest'", url, other, "guest")
        assert keys.file(other, "guest").exists(), "so that it can be tried again"


async def test_a_tenant_has_the_same_users_and_no_key_in_common(tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    bus_config(folder, seats=SEATS, moderators=1, clients=("alice",), host="127.0.0.1", monitor="")
    written = tenant(folder, "acme", port=4223, monitor=None)
    mine, theirs = keys.everybody(folder), keys.everybody(Path(written["keys"]))
    assert mine.keys() == theirs.keys() and not {c.seed for c in mine.values()} & {c.seed for c in theirs.values()}
    config = json.loads(Path(written["server"]).read_text())
    assert config["port"] == 4223 and config["jetstream"]["store_dir"] == "/data/jetstream-acme"
    with EmbeddedServer(tmp_path / "bus", (), {}) as server:
        serve(server, Path(written["server"]))
        async with await connect(server.url, theirs["alice"], name="t") as alice:
            assert alice.connected
        with pytest.raises(WrongCredentials):
            await connect(server.url, mine["alice"], name="t")
    for name, words in (("acme", "a tenant 'acme' already"), ("keys", "got 'keys'"), ("../x", "got '../x'")):
        with pytest.raises(BadInput, match=re.escape(words)):
            tenant(folder, name, port=None, monitor=None)


class Secured(EmbeddedServer):
    """A server whose clients come by TLS."""

    @property
    def url(self) -> str:
        return f"tls://localhost:{self.port}"


async def test_a_certificate_is_renewed_under_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections stay, whoever comes meets the new one, and no turn is lost; the end is known before."""
    certificates.authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / certificates.AUTHORITY))
    monitor = free_port()

    def renew(days: int) -> float:
        return certificates.issue(tmp_path, tmp_path, "localhost", ("127.0.0.1",), days).timestamp()

    soon = renew(30)
    bare = Kept(tmp_path)
    bare.server.stop()
    conf = bare.keys / CONFIGURATION
    pair = {"cert_file": f"{tmp_path}/{certificates.CERTIFICATE}", "key_file": f"{tmp_path}/{certificates.KEY}"}
    conf.write_text(json.dumps(json.loads(conf.read_text()) | {"tls": pair, "http": f"127.0.0.1:{monitor}"}))
    bare.server = Secured(tmp_path / "bus", (), {}, port=bare.server.port)
    serve(bare.server, conf)
    async with bare:
        await bare.moderator()
        await bare.workers({"latency_s": 0.3})
        assert (await bare.open("s0", settings={"round_limit": 3})).fate == "taken"
        found = Outcomes(CollectorRegistry())
        state = BusState(await bare.connect("owner"), found, f"http://127.0.0.1:{monitor}")
        seen: dict[str, dict[tuple[str, ...], float]] = {}
        await state._server(seen)
        assert seen["nats_certificate_ends_seconds"] == {(): soon}
        assert bare.owner.certificate_ends == soon
        assert "ends in 30 days" in _certificate_words(soon) and not _certificate_words(None)
        later = renew(400)
        async with await connect(bare.server.url, bare.credentials["operator"], name="t") as operator:
            await reload(operator)
        async with await connect(bare.server.url, bare.credentials["guest"], name="t") as guest:
            assert guest.certificate_ends == later and not _certificate_words(later)
        assert bare.owner.certificate_ends == soon and bare.owner.breaks == 0, "who was there stays"
        assert decode((await bare.closed("s0", 20.0)).body, Result).status == "finished"
        assert not [e for e in await bare.entries("s0") if getattr(e.event, "error", "")], "no turn is lost"
        bare.server.kill()
        bare.server.start()
        await until(lambda: bare.owner.connected and bare.owner.certificate_ends == later)


async def test_a_connection_that_ends_by_itself_is_closed_when_close_returns(tmp_path: Path) -> None:
    """Whoever closes while the client is still at it waits for its socket, too."""
    async with Kept(tmp_path) as engine:
        guest = await connect(engine.server.url, engine.credentials["guest"], name="t")
        writer = guest.nc._transport._io_writer  # type: ignore[union-attr]
        await guest._error(Exception("nats: 'Authorization Violation'"))  # as the client tells of it
        await asyncio.sleep(0)
        assert guest.nc.is_closed and not writer.transport.is_closing(), "it has begun"
        await guest.close()
        assert writer.transport.get_extra_info("socket").fileno() == -1


def test_a_configuration_without_a_user_names_him_nowhere() -> None:
    users = table({"pro_1": "pro", "con_1": "con"})
    public = publics(accounts.mint(users))
    config = json.loads(rendered.render(users, public, store_dir="/x"))
    less = rendered.without(config, public["con_1"])
    text = json.dumps(less)
    assert "con_1" not in text.replace("team_con", "")
    assert public["con_1"] not in text
    assert public["pro_1"] in text
    rest = json.loads(rendered.render([u for u in users if u.name != "con_1"], public, store_dir="/x"))
    assert less == rest, "as if he had never been"
    with pytest.raises(BadTable, match="no user"):
        rendered.without(less, public["con_1"])
