"""How one session is run and shown, beside what is asked (parley.schemas.session.OpenSession)."""

from dataclasses import dataclass

from parley.applying import NOWHERE, Into
from parley.client.choice import NAMED, Choice
from parley.client.task_folder import SentFolder
from parley.planned.plan import Plan
from parley.schemas.session import ForkSession


@dataclass(frozen=True, kw_only=True)
class Run:
    """How one session is run and shown."""

    plan: Plan
    """On which bus, or stack."""
    json: bool = False
    quiet: bool = False
    plain: bool = False
    verbose: bool = False
    """Everything that is said, and not one screen."""
    everything: bool = False
    """Every channel, which takes an owner's credentials."""
    person: bool = False
    """Somebody sits at the terminal, and may be asked."""
    page: bool = False
    """On a page in the browser too."""
    dry: bool = False
    """Nothing is started; what it may come to is said."""
    ephemeral: bool = False
    """Nothing is kept."""
    sent: SentFolder | None = None
    """The folder that it begins with."""
    into: Into = NOWHERE
    """Where an approved change of that folder goes."""
    choice: Choice = NAMED
    """How its protocol was chosen."""
    fork: ForkSession | None = None
    """What is opened in place of the opening, which says what that comes to."""
