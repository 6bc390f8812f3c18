"""How a poll is set up and shown: a setting of its own on the command line, and for the rest the defaults."""

from parley.client.faces.face import Face
from parley.client.faces.options import Option
from parley.client.faces.setup import Setup, Several

FACE = Face(
    setup=Setup(
        name="poll",
        several=Several(role="panelist", setting="voters", size=3),
        options=(Option("--voters", int | None, "Voters of a poll."),),
    )
)
