"""A bus behind TLS: who is told that its certificate ends, and how another one takes its place under load."""

import json
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from parley.bus.cluster import certificates
from parley.bus.connection import connect
from parley.bus.embedded import EmbeddedServer
from parley.bus_admin.cluster import CONFIGURATION
from parley.bus_admin.users import reload
from parley.coordinator.outcomes.bus_state import BusState
from parley.doctor.checks import _certificate_words
from parley.observability.outcomes import Outcomes
from parley.schemas.result import Result
from parley.schemas.wire import decode
from tests.outcomes.test_bus_state import free_port
from tests.security.test_users import Kept, serve
from tests.support.engine import until


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
        for sid in ("s0", "s1", "s2"):
            assert (await bare.open(sid, settings={"round_limit": 3})).fate == "taken"
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
        for sid in ("s0", "s1", "s2"):
            assert decode((await bare.closed(sid, 20.0)).body, Result).status == "finished"
            assert not [e for e in await bare.entries(sid) if getattr(e.event, "error", "")]
        bare.server.kill()
        bare.server.start()
        await until(lambda: bare.owner.connected and bare.owner.certificate_ends == later)
        assert (await bare.open("s3")).fate == "taken"
        assert decode((await bare.closed("s3", 20.0)).body, Result).status == "finished"
