"""How a session of one protocol is set up, before it is opened: the base of every protocol's SETUP.

The command line reads every SETUP to know its options, so a module that makes one imports little: what reads files or
knows the machine is imported by the method that needs it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from parley.client.setup.options import Option

if TYPE_CHECKING:
    from parley.client.setup.expert_choice import Routing
    from parley.schemas.presence import Announcement

UNRANKED = 100


class Several(NamedTuple):
    """The role of which a protocol seats as many as a setting says, or `size` where nothing is set."""

    role: str
    setting: str
    size: int
    chooses: int = 0
    """Of more members than seats, those sit who fit the question, at most so many; 0: all of them sit."""


class Beneath(NamedTuple):
    """A session that one of the protocol may start."""

    protocol: str
    settings: Mapping[str, Any]
    inner: str
    """The setting that holds its settings."""


class BadLine(NamedTuple):
    """In place of the document of a line that could not be read."""

    number: int
    """Counted from 1."""
    field: str
    why: str
    """With file and line."""


class Command(NamedTuple):
    """A command of the protocol's own: it reads one file and prints one JSON document, or one a line of the file."""

    name: str
    help: str
    metavar: str
    about: str
    """Help of its argument."""
    run: Callable[..., Any]
    """From the argument, and the options by name, to the document; an iterator: of documents and BadLine. Raises
    BadInput."""
    options: tuple[Option, ...] = ()


@dataclass(frozen=True)
class Setup:
    """Whom a protocol seats, which of its settings stand in files, and its options on the command line.

    The defaults serve any protocol: one queue for each seat that it needs.
    """

    name: str
    """The protocol's."""
    about: str = ""
    """How its sessions go, for whoever chooses among protocols: a sentence or two."""
    hidden: tuple[str, ...] = ()
    """Settings that no form offers: a file or an archive gives them."""
    rank: int = UNRANKED
    """Where its options stand among those of other protocols: the lowest first, then by name."""
    several: Several | None = None
    others: tuple[str, ...] | None = None
    """Queues beside those of `several`; None: as many for each role as the protocol needs."""
    options: tuple[Option, ...] = ()
    """Of `parley ask`."""
    stack_options: tuple[Option, ...] = ()
    """Of `parley up`."""
    key_options: tuple[Option, ...] = ()
    """Of `parley bus config`: for how many seats keys are made."""
    examples: tuple[str, ...] = ()
    """Of `parley ask`, a line each."""
    counts: tuple[str, ...] = ()
    """Settings that act on the count alone: a recount answers what they change (`parley replay ID --decide`)."""
    learns: bool = False
    """Feedback teaches its threshold, round limit and quorum (parley.client.learned.thresholds)."""
    commands: tuple[Command, ...] = ()
    opening_only: tuple[str, ...] = ()
    """Settings that act before the first recorded event, or on what is shown alone: no replay can tell."""
    applied: frozenset[str] = frozenset()
    """Stop reasons after which the folder of a result may be written back."""
    without_folder: Mapping[str, Any] = field(default_factory=dict)
    """Settings, where nothing else is given, of a session that begins without a folder, on tools that are for one."""

    with_person: Mapping[str, Any] = field(default_factory=dict)
    """Settings, where nothing else is given, of a session whose asker sits before it: at a terminal, or on the page."""

    @property
    def changes_folder(self) -> bool:
        """Whether its sessions begin with a folder, of which they change a copy. Others read one as documents."""
        return any(option.gives == "folder" for option in self.options)

    # -- who is seated
    def queues(self, settings: Mapping[str, Any], size: int | None = None) -> tuple[str, ...]:
        """The queues that a session of these settings needs. `size`: of the role of which there are several, where the
        settings do not say it. Raises BadInput."""
        many = self.several
        others = self._needed() if self.others is None else self.others
        if many is None:
            return others
        count = size or settings.get(many.setting) or many.size
        return (*(f"{many.role}_{i}" for i in range(1, count + 1)), *others)

    def process(self, queue: str) -> str:
        """In which process a queue is served where one stack serves every protocol; empty: nothing is said. Queues that
        must not speak for each other are in several."""
        return ""

    def _needed(self) -> tuple[str, ...]:
        from parley.coordinator.protocols import PROTOCOLS

        queues: list[str] = []
        for role in PROTOCOLS[self.name].roles:
            if self.several is None or role.name != self.several.role:
                one = role.least < 2
                queues += [role.name] * role.least if one else [f"{role.name}_{i + 1}" for i in range(role.least)]
        return tuple(queues)

    def due(self, settings: Mapping[str, Any]) -> Mapping[str, int]:
        """Role -> seats that the settings want of it, where that may be more than the protocol's least."""
        many = self.several
        return {many.role: settings.get(many.setting) or many.size} if many else {}

    def keyed(self, given: Mapping[str, Any]) -> tuple[str, ...]:
        """The queues for which `parley bus config` makes keys. `given`: values of `key_options`, by name."""
        return self.queues({}, given.get(self.several.setting) if self.several else None)

    # -- settings
    def whole(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The settings with what stands in files read in. Raises BadInput."""
        return dict(settings)

    def refuse_local_files(self, settings: Mapping[str, Any]) -> None:
        """Raise BadInput where settings that came from another machine name a file of this one."""

    def beneath(self, settings: Mapping[str, Any]) -> Beneath | None:
        """The session that one of these settings may start; None: none."""
        return None

    def topic(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """What the options that give the question come to: `question`, and what may come with it, `settings` and
        `evidence`. Raises BadInput. `given`: values of those options, by name; one at least is given."""
        raise NotImplementedError(f"{self.name} has an option that gives the question, and does not read it")

    def why_impossible(self, workers: "Iterable[Announcement]", settings: Mapping[str, Any], *, folder: bool) -> str:
        """Why what is asked for cannot be done by those who are there, said before it begins; empty: it can."""
        return ""

    def of_folder(
        self, data: bytes, workers: "Iterable[Announcement]", settings: Mapping[str, Any]
    ) -> tuple[Mapping[str, Any], str]:
        """What the folder that a session begins with says of its settings, and that in words; nothing: it says none.

        Parameters
        ----------
        data
            Its archive.
        workers
            Who is there.
        settings
            Those that are given.
        """
        return {}, ""

    def check_here(self, data: bytes, settings: Mapping[str, Any]) -> None:
        """Refuse settings that cannot work on a folder where all agents run on this machine, with this process's
        environment.

        Parameters
        ----------
        data
            The folder's archive.
        settings
            Those that are given.

        Raises
        ------
        BadInput
            Names the setting, its value and what there is.
        """

    # -- what else it brings
    def template(self) -> Mapping[str, str]:
        """File -> text of a folder to begin in (`parley init`); nothing: it has none."""
        return {}

    def result_folder(self, outcome: Mapping[str, Any]) -> str:
        """The artifact of the folder that a result has accepted; empty: none."""
        return ""

    def routing(self) -> "Routing | None":
        """How it chooses who takes a task, without a bus; None: it does not."""
        return None


def in_order(setups: Sequence[Setup]) -> tuple[Setup, ...]:
    """Setups as their options are shown."""
    return tuple(sorted(setups, key=lambda s: (s.rank, s.name)))
