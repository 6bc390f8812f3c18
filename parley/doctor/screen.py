"""The doctor's report on one screen."""

from collections.abc import Iterator

from client.text import count, line
from parley.doctor import encoder
from parley.doctor.report import ModelFound, Report

_SHOWN = 4
"""Agents of one model that have a line each, and queues of a role that are named; more are counted."""


def words(report: Report) -> Iterator[str]:
    """The report on one screen."""
    for name, part in (("bus", report.bus), ("credentials", report.credentials), ("moderators", report.moderators)):
        yield f"{name:12} {part.status:12} {line(part.what)}"
        if name == "bus" and len(report.servers) > 1:
            yield from (f"{'  server':12} {s.status:12} {line(s.address)}: {line(s.what)}" for s in report.servers)
    for role in report.roles:
        if role.protocol == report.protocol:
            there = ", ".join(q if n == 1 else f"{q} ({n} copies)" for q, n in role.queues.items())
            if len(role.queues) > _SHOWN:
                there = f"{len(role.queues)} serve it"
            named = f"; {line(there)}" if there else "; not known who serves it" if role.status == "unknown" else ""
            yield f"{role.protocol:12} {role.status:12} {role.role}: {role.needed} needed{named}"
    yield from _others(report)
    alike: dict[tuple[str, str], list[str]] = {}
    for m in report.models:
        alike.setdefault((m.status, _model_words(m)), []).append(line(m.seat))
    for (status, said), seats in alike.items():
        if len(seats) > _SHOWN:
            yield f"{'agents':12} {status:12} {len(seats)}: {said}"
        else:
            yield from (f"{seat:12} {status:12} {said}" for seat in seats)
    if report.unasked:
        yield f"{'agents':12} {'unknown':12} not known, because {line(report.unasked)}"
    elif not report.models:
        yield f"{'agents':12} {'none':12} no agent is there"
    yield f"{'encoder':12} {report.encoder.status:12} {encoder.words(report.encoder)}"
    for brought in report.installed:
        kind = brought.group.rpartition(".")[2].removesuffix("s")
        said = f"{kind} {line(brought.name)} of {line(brought.package)} ({line(brought.value)})"
        yield f"{'installed':12} {'left out' if brought.fault else 'ok':12} {said}"
        if brought.fault:
            yield f"  why        {line(brought.fault)}"
    left_out = len({brought.package for brought in report.installed if brought.fault})
    besides = f", but {count(left_out, 'installed package')} cannot be loaded" if left_out else ""
    for one in report.missing:
        yield f"missing      {line(one.what)}"
        yield f"  mend it    {line(one.mend)}"
    if not report.ok:
        yield f"{len(report.missing)} to mend."
    elif report.bus.status == "not running":
        yield f"Parley lacks nothing{besides}. The first question starts what does not run yet."
    elif report.unasked:
        yield f"The bus takes this key{besides}. Who serves, and whether anything is missing, is not known."
    else:
        yield f"Parley has everything that it needs{besides}."
    if report.models and all(m.model == "extractive" for m in report.models):
        yield "For a language model, set LLM_PROVIDER and LLM_MODEL, and the provider's key (docs/models.md)."


def _others(report: Report) -> Iterator[str]:
    """What runs of the protocols that were not asked for, a line each; nothing where nothing runs."""
    if not any(r.queues for r in report.roles):
        return
    for name in dict.fromkeys(r.protocol for r in report.roles if r.protocol != report.protocol):
        mine = [r for r in report.roles if r.protocol == name]
        if not any(r.queues for r in mine):
            needed = ", ".join(f"{r.needed} {r.role}" for r in mine if r.needed)
            yield f"{name:12} {'not served':12} nobody is there: {needed}"
        else:
            lacking = [f"{r.needed} {r.role}" for r in mine if r.status != "ok"]
            yield f"{name:12} {'missing' if lacking else 'ok':12} {', '.join(lacking) or 'every role is served'}"


def _model_words(m: ModelFound) -> str:
    parts = [line(m.model) + (f" ({m.provider})" if m.provider else "")]
    if m.model == "extractive":
        parts.append("no language model: answers from documents")
    elif m.metered:
        if m.usd_per_million_input is None:
            parts.append("no price known: set LLM_USD_PER_MILLION_INPUT and _OUTPUT")
        else:
            parts.append(f"{m.usd_per_million_input:g} in, {m.usd_per_million_output:g} out USD a million tokens")
    if m.structured:
        parts.append(m.structured)
    if m.seconds is not None:
        parts.append(f"{m.seconds:.2f} s")
    if m.status == "configured" and m.provider:
        parts.append("not tried: --probe")
    return ", ".join(parts)
