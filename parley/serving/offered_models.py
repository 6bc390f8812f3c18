"""What programs may ask for by name: the protocols with the settings of this machine, and a folder of saved panel
files."""

from dataclasses import replace
from pathlib import Path

import msgspec

from parley.client.errors import BadInput
from parley.client.learned import store
from parley.client.protocols import SETUPS, panel_setup, setup_of
from parley.coordinator.protocols import PROTOCOLS
from parley.planned.learned_file import file_to_read
from parley.planned.plan import Plan
from parley.schemas.session import SESSION_ID, Seat
from parley.stack.panel_file import Panel, read_panel, role_of
from parley.stack.rows import AgentRow
from parley.web.offered_models import Offers

SUFFIXES = (".yaml", ".yml")


def offers_of(plan: Plan, panels: Path | None = None) -> tuple[Plan, Offers]:
    """The plan with whom the saved panels seat beside its own, and what may be asked for.

    Parameters
    ----------
    panels
        Folder of panel files; the name of each, without its suffix, is the panel's.

    Raises
    ------
    BadInput
        A file of what was learned cannot be read. A file is no panel, has a protocol's name, or seats one whom another
        file seats with another model.
    """
    if (learned := file_to_read(plan.settings)) is not None:
        store.read(learned)  # a file that cannot be read is refused now, and not with every session
    presets = _read(panels) if panels is not None else {}
    rows = {row.queue: ("this gateway's own agents", row) for row in plan.rows} if not plan.settings.nats.url else {}
    more: list[AgentRow] = []
    for name, panel in presets.items():
        for row in panel.rows if not plan.settings.nats.url else ():
            where, there = rows.setdefault(row.queue, (f"{name}.yaml", row))
            if there is row:
                more.append(row)
            elif msgspec.structs.replace(there, process="") != row:
                why = f"{name} and {where} both seat {row.queue}, with different models; give it another name in one"
                raise BadInput(f"seats.{row.queue}", f"{why}, such as {name}_1 with its role")
    seated = replace(plan, beside=tuple(more))
    offers = [plan.offer(name, name=name) for name in SETUPS]
    if more:
        offers = [msgspec.structs.replace(o, seats=o.seats or _own_seats(o.name, plan)) for o in offers]
    offers += [plan.offer(panel=panel, name=name) for name, panel in presets.items()]
    return seated, Offers(offers)


def _own_seats(name: str, plan: Plan) -> tuple[Seat, ...]:
    """The protocol's seats among the gateway's own agents, named, so that no saved panel's sit in their place; none:
    it has no such agents, or finds who sits by the task."""
    queues, rows = setup_of(name).queues(plan.settings.of(name)), {row.queue: row for row in plan.rows}
    if PROTOCOLS[name].experts or not set(queues) <= set(rows):
        return ()
    return tuple(Seat(seat=q, role=role_of(rows[q]), queue=q) for q in queues)


def _read(folder: Path) -> dict[str, Panel]:
    """Name -> panel, in the order of the names. Raises BadInput."""
    if not folder.is_dir():
        raise BadInput("panels", f"{folder} is not a folder")
    panels: dict[str, Panel] = {}
    for path in sorted(folder.iterdir()):
        if path.suffix not in SUFFIXES or path.name.startswith("."):
            continue
        if not SESSION_ID.fullmatch(path.stem):
            raise BadInput("panels", f"{path.name}: a panel's name has letters, digits, _ and - alone, at most 64")
        if path.stem in SETUPS:
            raise BadInput("panels", f"{path.name}: {path.stem} is a protocol; give the panel another name")
        if path.stem in panels:
            raise BadInput("panels", f"{path.name}: there is another file of that name")
        file = read_panel(path)
        panel = panels[path.stem] = file.playing(file.protocol or panel_setup().name, {})
        if PROTOCOLS[panel.protocol].experts:
            why = f"{panel.protocol} finds its experts by the task, so a panel for it would join every task"
            raise BadInput("panels", f"{path.name}: {why}; enrol experts with parley experts")
    if not panels:
        raise BadInput("panels", f"{folder} holds no panel file (NAME.yaml)")
    return panels


def root_of(path: Path) -> Path:
    """A folder under which a projectPath may lie, without links. Raises BadInput where it is none."""
    if not path.is_dir():
        raise BadInput("root", f"{path} is not a folder")
    return path.resolve()
