"""What a package may bring: it is allowed by name, checked when it is loaded, and harms nothing else.

The attacks of docs/security.md (packages)."""

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from parley.agents.model.base import ModelError, ModelMisconfigured
from parley.agents.retrieval import retrievers
from parley.bus import channels, subjects
from parley.bus.accounts import mint, publics, table
from parley.bus.errors import Denied
from parley.bus.rendered import render
from parley.bus_admin.config import of_packages
from parley.client.show.palette import seat_name
from parley.coordinator import admission
from parley.coordinator.commands import AskSeat, Finish, SayOn, Stop
from parley.coordinator.machine import Protocol
from parley.coordinator.packages.stop_rules import VARIABLE, with_rule
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.replay import Diverged, replay
from parley.coordinator.table import Answered, Cell, Inadmissible, Missed, Unaffordable, to
from parley.schemas import registry
from parley.schemas.log import Opened
from parley.schemas.packages import StopRow
from parley.schemas.post import ReadPosts, SessionRows
from parley.schemas.registry import ALLOWED
from parley.schemas.result import Result
from parley.schemas.session import Budget, OpenSession
from parley.schemas.stops import STOPS, stop_row
from parley.schemas.wire import decode, encode
from parley.testing import check_protocol, play, scripted
from tests.extending.packages import jury, place
from tests.support.engine import Engine

Patch = pytest.MonkeyPatch
ROLE, ROOM = "x_parley_jury_juror", "x_parley_jury_room"
TEA = {"choice": "tea"}


@pytest.fixture(scope="module")
def protocol(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Protocol]:
    """The jury's, of the example package."""
    with Patch.context() as patch:
        jury(tmp_path_factory.mktemp("jury"), patch)
        yield PROTOCOLS["jury"]


def fault(package: str, group: str, name: str = "it") -> str:
    """Why the part is left out, as `parley doctor` tells it; empty: it is not."""
    found = [b for b in registry.everything() if b.package.startswith(f"{package} ") and b.group == group]
    (brought,) = [b for b in found if b.name == name]
    assert brought.value, "it says where the part stands"
    return brought.fault


ROWS = "from parley.schemas.packages import *\nit = PackageRows({})\n"
MACHINE = (
    "import dataclasses\nfrom parley.coordinator.protocols import PROTOCOLS\nfrom parley.coordinator.table import *\n"
)
SINGLE = MACHINE + "it = dataclasses.replace(PROTOCOLS['single'], name='it', {})\n"
PLAIN = "converged=False, status='finished', exit_code=3, words='so'"


@pytest.mark.parametrize(
    ("group", "source", "why"),
    [
        ("rows", "raise RuntimeError('half installed')", "RuntimeError: half installed"),
        ("rows", "it = 7", "it is of class int, wanted is PackageRows"),
        ("rows", ROWS.format(f"stops=(StopRow(reason='threshold', {PLAIN}),)"), "begin with x_evil_"),
        ("rows", ROWS.format("roles=('judge',)"), "begin with x_evil_"),
        ("rows", ROWS.format("roles=('x_evil_a', 'x_evil_a')"), "two rows are named x_evil_a"),
        ("rows", ROWS.format("channels=(ChannelRow(name='team_pro', readers=('client',)),)"), "begin with x_evil_"),
        ("rows", ROWS.format("channels=(ChannelRow(name='x_evil_c', readers=('pro',)),)"), "'pro' is no role of the"),
        ("rows", ROWS.format("channels=(ChannelRow(name='x_evil_c', readers=('client',), writers=('client',)),)"),
         "'client' is no role of the package"),
        ("rows", ROWS.format("channels=(ChannelRow(name='x_evil_c', readers=()),)"), "nobody reads it"),
        ("rows", ROWS.format("stops=(StopRow(reason='x_evil_cap', converged=True, status='finished', exit_code=3, "
                             "words='so'),)"), "what converges is finished, with exit status 0"),
        ("rows", ROWS.format("stops=(StopRow(reason='x_evil_a', converged=False, status='failed', exit_code=0, "
                             "words='so'),)"), "exit status 0 of failed, expected 1"),
        ("protocols", SINGLE.format("roles=(Role('x_evil_juror', 2),)"), "'x_evil_juror' is no role"),
        ("protocols", SINGLE.format("channel='team_pro'"), "none of its roles writes on team_pro"),
        ("protocols", SINGLE.format("standing='mine'"), "sessions that stand are Parley's own"),
        ("protocols", SINGLE.format("table={}"), "has no row"),
        ("protocols", SINGLE.format("version=1") + "for row in it.table.values():\n    break\n"
         "it = dataclasses.replace(it, table={**it.table, next(iter(it.table)): {int: 7}})", "int: no such event"),
        ("protocols", SINGLE.format("version=1") +
         "it = dataclasses.replace(it, table={**it.table, next(iter(it.table)): {Missed: to(print, 'nowhere')}})",
         "it leads to nowhere, which is no phase"),
        ("protocols", SINGLE.replace("name='it'", "name='else'").format(""), "its entry point is 'it'"),
        ("stop_rules", "from parley.coordinator.table import StopRule\nit = StopRule('it', 'agreement', str)",
         "'agreement' is no stop reason that finishes a session without convergence"),
        ("retrievers", "import no_such_module", "ModuleNotFoundError"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_when_it_is_loaded_and_takes_nothing_else_along(
    group: str, source: str, why: str, tmp_path: Path, monkeypatch: Patch
) -> None:
    module = f"evil_{abs(hash(source))}"
    place(tmp_path, "evil", {f"parley.{group}": {"it": f"{module}:it"}}, {module: source})
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv(ALLOWED, "evil")
    assert why in fault("evil", f"parley.{group}")
    assert "it" not in PROTOCOLS and set(STOPS) == set(registry.Extended(STOPS, dict)) and "threshold" in STOPS
    assert not STOPS["round_limit"].converged and channels.CHANNELS["team_pro"].readers == {"PRO"}
    assert not channels.is_agents("X_EVIL_A")


def test_nothing_is_loaded_of_a_package_that_is_not_allowed(tmp_path: Path, monkeypatch: Patch) -> None:
    """Not even to say that it is there."""
    ran = tmp_path / "ran"
    place(tmp_path, "evil", {f"parley.{g}": {"it": "evil_runs:it"} for g in ("rows", "protocols", "models")},
          {"evil_runs": f"open({str(ran)!r}, 'w')"})  # fmt: skip
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv(ALLOWED, "other, Some_Thing")
    for group in ("rows", "protocols", "models"):
        assert "not allowed; to allow it, add evil to PARLEY_PACKAGES" in fault("evil", f"parley.{group}")
    with pytest.raises(registry.NotUsable, match="the package is not allowed"):
        registry.load("parley.protocols", "it")
    assert "it" not in PROTOCOLS and not ran.exists()
    (absent,) = [b for b in registry.everything() if b.name == "some-thing"]
    assert absent.fault == "no such package is installed"


def test_a_name_that_two_packages_bring_or_parley_has_is_nobodys(tmp_path: Path, monkeypatch: Patch) -> None:
    for package in ("one", "two"):
        points = {"parley.models": {"it": f"{package}_m:it", "extractive": f"{package}_m:it"},
                  "parley.protocols": {"consensus": f"{package}_m:it"}}  # fmt: skip
        place(tmp_path, package, points, {f"{package}_m": "raise RuntimeError('it ran')"})
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv(ALLOWED, "one,two")
    assert fault("one", "parley.models") == "one and two both bring it, so neither is loaded"
    with pytest.raises(registry.NotUsable, match="neither is loaded"):
        registry.load("parley.models", "it")
    monkeypatch.setenv(ALLOWED, "two")
    assert fault("two", "parley.protocols", "consensus") == "Parley has a consensus of its own"
    assert fault("two", "parley.models", "extractive") == "Parley has a extractive of its own"
    assert PROTOCOLS["consensus"].name == "consensus"


# ---------------------------------------------------------------- rows


def test_a_package_adds_rows_and_changes_none(tmp_path: Path, monkeypatch: Patch) -> None:
    """The operator renders the accounts' table: what a package adds stands there, and all else is as it was."""
    queues = {"panelist_1": "panelist", "pro_1": "pro"}
    keys = mint(table({**queues}))

    def rendered(more: Mapping[str, str]) -> Any:
        users = table({**queues, **more})
        known = publics(keys) | dict.fromkeys(more, "U")
        return msgspec.json.decode(render(users, known, store_dir=""))["accounts"]

    before = rendered({})
    jury(tmp_path, monkeypatch)
    assert rendered({}) == before, "a package that nobody serves changes nothing"
    after = rendered({f"{ROLE}_1": ROLE})
    (added,) = set(after) - set(before)
    assert added == f"X_PARLEY_JURY_JUROR:{ROLE}_1"
    assert all(after[name]["users"] == before[name]["users"] for name in before if name not in ("CORE", "SYS"))
    (user,) = after[added]["users"]
    allowed = str(user["permissions"])
    assert ROOM in allowed and "public" in allowed and "team_pro" not in allowed and "judge_notes" not in allowed
    assert not channels.may_read("PANEL", ROOM) and not channels.may_read("CLIENTS", ROOM)
    assert channels.may_write("X_PARLEY_JURY_JUROR", ROOM) and channels.speaks_on("X_PARLEY_JURY_JUROR") == "public"
    assert of_packages() == (
        f"parley-jury 1.0 adds {ROLE}: it reads public, control, {ROOM}; it writes public, {ROOM}",
    )
    with pytest.raises(ValueError, match="has no account"):
        monkeypatch.delenv(ALLOWED)
        table({f"{ROLE}_1": ROLE})


def test_a_reason_whose_package_is_not_here_is_never_called_settled() -> None:
    row = stop_row("x_gone_verdict")
    assert row == StopRow(reason="x_gone_verdict", converged=False, status="finished", exit_code=3, words=row.words)
    assert "not loaded here" in row.words and "x_gone_verdict" not in STOPS


# ---------------------------------------------------------------- a protocol whose code fails


def with_handler(protocol: Protocol, change: Callable[[Any, Any, Any], Any]) -> Protocol:
    """Its handlers of votes, given and missed, with what they return changed."""
    phase = next(iter(protocol.table))

    def changed(event: type) -> Cell:
        cell = protocol.table[phase][event]
        return to(lambda s, e, v: change(*cell.handler(s, e, v), v), *cell.targets)

    row = {**protocol.table[phase], Answered: changed(Answered), Missed: changed(Missed)}
    return dataclasses.replace(protocol, table={**protocol.table, phase: row})


def raises(state: Any, wishes: Any, v: Any) -> Any:
    raise ZeroDivisionError("the jury's own")


def each(**fields: Any) -> Callable[[Any, Any, Any], Any]:
    """The fields of every wish that has them, changed."""

    def change(state: Any, wishes: tuple[Any, ...], v: Any) -> Any:
        known = [{k: x for k, x in fields.items() if k in w.__struct_fields__} for w in wishes]
        return state, tuple(msgspec.structs.replace(w, **k) for w, k in zip(wishes, known, strict=True))

    return change


def speaks(state: Any, wishes: tuple[Any, ...], v: Any) -> Any:
    return state, (*wishes, SayOn(channel="public", kind="count", round=1, body=msgspec.Raw(b"{}"), seat="nobody"))


def asks(state: Any, wishes: tuple[Any, ...], v: Any) -> Any:
    more = AskSeat(seat=f"{ROLE}_1", kind="song", round=1, brief=msgspec.Raw(b"{}"))
    return state, (*(w for w in wishes if not isinstance(w, Stop | Finish)), more)


def leaves(state: Any, wishes: Any, v: Any) -> Any:
    raise SystemExit(3)


def tells(channel: str) -> Any:
    """A handler that also posts there."""
    more = SayOn(channel=channel, kind="count", round=1, body=msgspec.Raw(b"{}"), seat="")
    return lambda state, wishes, v: (state, (*wishes, more))


def stays(state: Any, wishes: Any, v: Any) -> Any:
    phases: Any = type(state.phase)
    return msgspec.structs.replace(state, phase=next(iter(phases))), ()


MUTANTS = {
    "a handler raises": (raises, "ZeroDivisionError: the jury's own (tests/extending/test_packages.py:"),
    "a handler leaves the process": (leaves, "SystemExit"),
    "a channel of Parley's own": (tells("team_pro"), "posts on 'team_pro', which is not its own"),
    "an unknown reason": (each(reason="because"), "stopped with 'because', which is no stop reason"),
    "a turn of an unknown kind": (asks, "asks a 'song', a kind without a reply"),
    "a turn of an unknown seat": (each(seat="nobody"), "nobody"),
    "words of an unknown seat": (speaks, "posts in the name of 'nobody', who has no seat"),
    "a phase that is none": (lambda s, w, v: (msgspec.structs.replace(s, phase="lost"), w), "led to lost"),
    "nothing is awaited": (stays, "turns, windows, children: 0"),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_protocol_whose_code_fails_ends_its_session_within_one_turn(mutant: str, protocol: Protocol) -> None:
    (change, why), two = MUTANTS[mutant], {"jurors": 2}
    votes = {f"{ROLE}_1": scripted(TEA, TEA), f"{ROLE}_2": scripted({"choice": "coffee"}, TEA)}
    broken = with_handler(protocol, change)
    ended = play(broken, "Tea?", votes, settings=two)
    result = ended.result
    assert (result.status, result.stop.reason, result.outcome) == ("failed", "protocol_fault", {})
    assert why in str(result.stop.certificate["why"]) and len(ended.completions) <= 4
    votes = {f"{ROLE}_1": scripted(TEA, TEA), f"{ROLE}_2": scripted({"choice": "coffee"}, TEA)}
    with pytest.raises(AssertionError, match=re.escape(why)):
        check_protocol(broken, votes, settings=two)


def test_convergence_needs_the_signatures_of_more_than_half_who_answered(protocol: Protocol) -> None:
    def stop(certificate: Mapping[str, Any], reason: str = "x_parley_jury_verdict", **more: Any) -> Any:
        changed = each(certificate=msgspec.Raw(msgspec.json.encode(certificate)), reason=reason)
        return play(with_handler(protocol, changed), "Tea?", {ROLE: scripted(TEA, TEA, None)}, **more).result.stop

    seats = [f"{ROLE}_{i}" for i in (1, 2, 3)]
    assert stop({"signed": seats[:2]}).converged
    claims = {
        "names no seats that signed": {}, "1 of 3 seats signed": {"signed": seats[:1]},
        "never answered": {"signed": seats}, "is no seat": {"signed": [*seats[:2], "judge_1"]},
    }  # fmt: skip
    for why, certificate in claims.items():
        for reason in ("x_parley_jury_verdict", "agreement"):  # nor does a reason of Parley's own help
            told = stop(certificate, reason)
            assert not told.converged and why in told.certificate["unsigned"]
            assert STOPS[reason].exit_status(told.converged) == 3


def test_a_cap_is_no_convergence_whatever_a_package_calls_it(protocol: Protocol) -> None:
    phase = next(iter(protocol.table))

    def claims(s: Any, e: Any, v: Any) -> Any:
        certificate = msgspec.Raw(msgspec.json.encode({"signed": sorted(s.votes)}))
        done = msgspec.structs.replace(s, phase=protocol.done)
        return done, (Stop(reason="x_parley_jury_verdict", certificate=certificate), Finish())

    row = {**protocol.table[phase], Unaffordable: to(claims, protocol.done)}
    greedy = dataclasses.replace(protocol, table={**protocol.table, phase: row})
    votes = {f"{ROLE}_{i}": scripted({"choice": c}) for i, c in enumerate(("tea", "tea", "coffee"), 1)}
    for seat in votes.values():
        seat.metered = True
    stop = play(greedy, "Tea?", votes, budget=Budget(calls=6)).result.stop
    assert (stop.reason, stop.converged) == ("x_parley_jury_verdict", False)
    assert stop.certificate["unsigned"].startswith("a limit ended it: budget.calls")


# ---------------------------------------------------------------- retrievers and stop rules


@pytest.mark.usefixtures("protocol")
def test_a_retriever_orders_passages_and_a_bad_one_fails_its_turn(monkeypatch: Patch, tmp_path: Path) -> None:
    assert retrievers.scores("tea", ["a", "bb"]) is None, "without one, words are compared"
    monkeypatch.setenv(retrievers.VARIABLE, "shortest")
    assert retrievers.scores("tea", ["a", "bb"]) == [1 / 2, 1 / 3]
    monkeypatch.setenv(retrievers.VARIABLE, "longest")
    with pytest.raises(ModelMisconfigured, match="PARLEY_RETRIEVER: got 'longest', known: words, shortest"):
        retrievers.scores("tea", ["a"])
    sources = {"few": "return [1]", "odd": "return [-1 for t in texts]", "worse": "return 1 / 0"}
    code = "".join(f"def {name}(query, texts):\n    {line}\n" for name, line in sources.items())
    place(tmp_path, "odd-ones", {"parley.retrievers": {n: f"odd_ones:{n}" for n in sources}}, {"odd_ones": code})
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv(ALLOWED, "odd-ones")
    for name in sources:
        monkeypatch.setenv(retrievers.VARIABLE, name)
        with pytest.raises(ModelError, match=f"the retriever {name} (gave|raised)"):
            retrievers.scores("tea", ["a", "bb"])


@pytest.mark.usefixtures("protocol")
def test_an_opening_names_the_stop_rule_and_whoever_lacks_it_cannot_run_the_session(monkeypatch: Patch) -> None:
    answers = {f"panelist_{i}": scripted(*[{"answer": f"{i}", "reasoning": "So.", "confidence": 0.5}] * 9)
               for i in (1, 2, 3)}  # fmt: skip
    ended = play("consensus", "Tea?", answers, stop_rule="patience")
    assert ended.result.stop.reason == "x_parley_jury_patience"
    assert "patience: 2 rounds were played" in str(ended.result.stop.certificate)
    opened = ended.entries[0].event
    assert isinstance(opened, Opened) and opened.stop_rule == "patience"
    plain = msgspec.structs.replace(opened, stop_rule=msgspec.UNSET)
    assert with_rule(plain, PROTOCOLS["consensus"]) == plain
    monkeypatch.setenv(VARIABLE, "patience")
    assert with_rule(plain, PROTOCOLS["consensus"]) == opened
    assert with_rule(plain, PROTOCOLS["jury"]) == plain, "it ends no round"
    monkeypatch.delenv(ALLOWED)
    with pytest.raises(Inadmissible, match="add parley-jury to PARLEY_PACKAGES"):
        with_rule(plain, PROTOCOLS["consensus"])
    with pytest.raises(Diverged, match="add parley-jury to PARLEY_PACKAGES"):
        replay(PROTOCOLS.get, "s", ended.log)


def test_a_seat_function_that_raises_refuses_the_opening_with_its_place(protocol: Protocol) -> None:
    broken = dataclasses.replace(protocol, seat=raises)
    asked = OpenSession(question="Tea?", protocol="jury")
    with pytest.raises(Inadmissible, match=r"the code of protocol jury failed: ZeroDivisionError: .*test_packages.py:"):
        admission.check({"jury": broken}, asked)


def test_a_seat_of_a_package_is_read_without_the_packages_name(protocol: Protocol) -> None:
    assert seat_name(f"{ROLE}_1") == "Juror 1"
    assert seat_name("x_other_singer_2") == "Other singer 2", "a package that is not here"


# ---------------------------------------------------------------- what tests need


def test_a_script_that_is_over_is_a_failed_test(protocol: Protocol) -> None:
    with pytest.raises(AssertionError, match="the script has no reply to turn 2, of kind vote"):
        play("jury", "Tea?", {f"{ROLE}_1": scripted(TEA)}, default=scripted(*[{"choice": "coffee"}] * 9))
    failing = scripted(RuntimeError("no key"), RuntimeError("no key"))
    ended = play("jury", "Tea?", {f"{ROLE}_1": failing}, default=scripted(*[{"choice": "coffee"}] * 9))
    assert ended.result.stop.reason == "x_parley_jury_verdict" and not ended.said("count")[0]["choices"].get("tea")


# ---------------------------------------------------------------- on a bus

QUEUES = {f"{ROLE}_1": ROLE, f"{ROLE}_2": ROLE, "panelist_1": "panelist", "judge": "judge"}


def without() -> dict[str, Any]:
    """The protocols of a moderator whose operator does not allow the package."""
    return {name: protocol for name, protocol in PROTOCOLS.items() if name != "jury"}


@pytest.mark.slow
async def test_a_moderator_without_the_package_leaves_its_sessions_to_one_that_has_it(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    jury(tmp_path / "package", monkeypatch)
    async with Engine(tmp_path / "bus", QUEUES) as engine:
        for _ in range(3):
            await engine.moderator(without())
        await engine.moderator()
        for queue in (f"{ROLE}_1", f"{ROLE}_2"):
            await engine.worker(queue, model=scripted({"choice": "tea"}, {"choice": "tea"}, {"choice": "tea"}))
        for sid in ("s1", "s2", "s3"):
            opened = await engine.open(sid, protocol="jury", settings={"jurors": 2})
            assert opened.fate == "taken", opened
            result = decode((await engine.closed(sid)).body, Result)
            assert (result.stop.reason, result.stop.converged) == ("x_parley_jury_verdict", True)
        rows: SessionRows = await engine.sessions()
        assert {row.status for row in rows.rows} == {"finished"}

        # nobody but the jurors reads the jury's room, or speaks there
        for user in ("panelist_1", "judge", "client"):
            connection = await engine.connect(user)
            with pytest.raises(Denied):
                await connection.request(subjects.read(ROOM, "s1"), encode(ReadPosts()), 2.0)
            with pytest.raises(Denied):
                await connection.publish(subjects.say("any", ROOM, user, "s1"), b"{}", confirm=True)
        juror = await engine.connect(f"{ROLE}_1")
        for channel in ("team_pro", "team_con", "judge_notes", "scores"):
            with pytest.raises(Denied):
                await juror.request(subjects.read(channel, "s1"), encode(ReadPosts()), 2.0)
