"""The doctor's report on one screen."""

from collections.abc import Iterator, Sequence

from parley.client.text import count, hanging_rows, line
from parley.coordinator.protocols import PROTOCOLS
from parley.doctor.report import MEND_MODEL, ModelFound, Report, RoleFound

_SHOWN = 4
"""Agents of one model that have a line each, and queues of a role that are named; more are counted."""


def report_lines(report: Report, width: int = 0) -> Iterator[str]:
    """The report on one screen. `width`: columns of the terminal, 0 for none."""
    for head, said in _rows(report):
        yield from hanging_rows(head, said, width)


def _rows(report: Report) -> Iterator[tuple[str, str]]:
    """Each row: what stands in the first columns, and what is said beside it."""
    for name, part in (("bus", report.bus), ("credentials", report.credentials), ("moderators", report.moderators)):
        yield _head(name, part.status), line(part.what)
        if name == "bus" and len(report.servers) > 1:
            yield from ((_head("  server", s.status), f"{line(s.name)}: {line(s.what)}") for s in report.servers)
    for role in report.roles:
        if role.protocol == report.protocol:
            yield _head(role.protocol, role.status), f"role {role.role}: {_needed(role.needed)}{_there(role)}"
    yield from _others(report)
    alike: dict[tuple[str, str], list[ModelFound]] = {}
    for m in report.models:
        alike.setdefault((m.status, _model_words(m)), []).append(m)
    for (status, said), models in alike.items():
        if len(models) > _SHOWN:
            yield _head("agents", status), f"{len(models)}: {said}{_took(models)}"
        else:
            yield from ((_head(line(m.seat), status), f"{said}{_took([m])}") for m in models)
    if report.unasked:
        yield _head("agents", "unknown"), f"not known, because {line(report.unasked)}"
    elif not report.models:
        yield _head("agents", "none"), "no agent is there"
    yield _head("encoder", report.encoder.status), report.encoder.what
    yield from ((_head("hands", h.status), f"{line(h.name)}: {line(h.what, 300)}") for h in report.hands)
    for brought in report.installed:
        kind = brought.group.rpartition(".")[2].removesuffix("s")
        said = f"{kind} {line(brought.name)} of {line(brought.package)} ({line(brought.value)})"
        yield _head("installed", "left out" if brought.fault else "ok"), said
        if brought.fault:
            yield "  why        ", line(brought.fault)
    left_out = len({brought.package for brought in report.installed if brought.fault})
    besides = f", but not everything of {count(left_out, 'installed package')} is loaded" if left_out else ""
    for one in report.missing:
        yield "missing      ", line(one.what)
        yield "  mend it    ", line(one.mend)
    other = ""
    if report.models and all(m.model == "extractive" for m in report.models):
        needing = ", ".join(sorted(name for name, protocol in PROTOCOLS.items() if protocol.needs_model))
        if not PROTOCOLS[report.protocol].needs_model:  # else it is among what is missing
            yield "missing      ", f"a language model, which {needing} need: {MEND_MODEL}"
        yield from (("", line(told, 300)) for told in report.local_servers)
        other = " else"
    if not report.ok:
        yield "", f"{len(report.missing)} to mend."
    elif report.bus.status == "not running":
        yield "", f"Parley lacks nothing{other}{besides}. The first question starts what does not run yet."
    elif report.unasked:
        yield "", f"The bus takes this key{besides}. Who serves, and whether anything is missing, is not known."
    else:
        yield "", f"Parley has everything{other} that it needs{besides}."


def _there(role: RoleFound) -> str:
    """How many agents serve a role, and which, where that is known."""
    if not role.queues:
        return {"unknown": ", not known who is there", "missing": ", none is there"}.get(role.status, "")
    names = ", ".join(q if n == 1 else f"{q} ({n} copies)" for q, n in role.queues.items())
    return f", {len(role.queues)} there" + ("" if len(role.queues) > _SHOWN else f": {line(names)}")


def _needed(agents: int) -> str:
    return f"{count(agents, 'agent')} needed" if agents else "optional"


def _head(name: str, status: str) -> str:
    return f"{name:12} {status:12} "


def _others(report: Report) -> Iterator[tuple[str, str]]:
    """What runs of the protocols that were not asked for, a row each; nothing where nothing runs."""
    if not any(r.queues for r in report.roles):
        return
    for name in dict.fromkeys(r.protocol for r in report.roles if r.protocol != report.protocol):
        mine = [r for r in report.roles if r.protocol == name]
        if not any(r.queues for r in mine):
            needed = ", ".join(f"{r.needed} {r.role}" for r in mine if r.needed)
            yield _head(name, "not served"), f"no agent is there; needed: {needed}"
        else:
            lacking = [f"{r.needed} {r.role}" for r in mine if r.status not in ("ok", "no model")]
            modelless = [r.role for r in mine if r.status == "no model"]
            if lacking:
                yield _head(name, "missing"), f"too few agents; needed: {', '.join(lacking)}"
            elif modelless:
                yield _head(name, "no model"), f"a language model is needed for {', '.join(modelless)}"
            else:
                yield _head(name, "ok"), "every role is served"


def _took(models: Sequence[ModelFound]) -> str:
    seconds = [m.seconds for m in models if m.seconds is not None]
    return f", {max(seconds):.2f} s" if seconds else ""


def _model_words(m: ModelFound) -> str:
    parts = [line(m.model) + (f" ({m.provider})" if m.provider else "")]
    if m.model == "extractive":
        parts.append(f"no language model: {'cannot answer' if m.status == 'no model' else 'answers from documents'}")
    elif m.metered:
        if m.usd_per_million_input is None:
            parts.append("no price known: set LLM_USD_PER_MILLION_INPUT and _OUTPUT")
        else:
            parts.append(f"{m.usd_per_million_input:g} in, {m.usd_per_million_output:g} out USD a million tokens")
    if m.structured:
        parts.append(m.structured)
    if m.learned:
        parts.append(f"learned: asked {line(m.learned, 300)}")
    if m.status == "configured" and m.provider:
        parts.append("not tried: --probe")
    return ", ".join(parts)
