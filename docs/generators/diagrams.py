"""State diagrams of the protocols, drawn from their transition tables.

python -m docs.generators.diagrams                  print all
python -m docs.generators.diagrams docs/diagrams    write one page a protocol
"""

import sys
from pathlib import Path

from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.table import Protocol


def mermaid(protocol: Protocol) -> str:
    """A Mermaid state diagram: an arrow for each phase and phase that its cells may lead to, labelled with the
    events."""
    first = next(iter(protocol.table))
    lines = ["stateDiagram-v2", f"    [*] --> {first}"]
    for phase, row in protocol.table.items():
        arrows: dict[str, list[str]] = {}
        for event, cell in row.items():
            for target in cell.targets:
                arrows.setdefault(target, []).append(event.__name__)
        lines += [f"    {phase} --> {target}: {', '.join(events)}" for target, events in arrows.items()]
    if not protocol.standing:
        lines.append(f"    {protocol.done} --> [*]")
    return "\n".join(lines)


def page(protocol: Protocol) -> str:
    """The diagram and the table behind it, as Markdown."""
    lines = [
        f"# {protocol.name}",
        "",
        "Arrows are events that lead from one phase to another. "
        "An event without an arrow from a phase is illegal there. "
        + ("This session stays open." if protocol.standing else "A cancel ends a session in any phase."),
        "`python -m docs.generators.diagrams docs/diagrams` draws this page from the transition table.",
        "",
        "```mermaid",
        mermaid(protocol),
        "```",
        "",
        "| phase | event | handler | leads to |",
        "|---|---|---|---|",
    ]
    for phase, row in protocol.table.items():
        for event, cell in row.items():
            handler = cell.handler.__name__
            lines.append(f"| {phase} | {event.__name__} | `{handler}` | {', '.join(cell.targets)} |")
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> None:
    """Print all pages, or write them into a folder."""
    for protocol in PROTOCOLS.values():
        if arguments:
            Path(arguments[0], f"{protocol.name}.md").write_text(page(protocol), encoding="utf-8")
        else:
            sys.stdout.write(page(protocol))


if __name__ == "__main__":
    main(sys.argv[1:])
