"""How a session of the protocol `single` is set up."""

from parley.client.setup.setup import Setup

SETUP = Setup(
    name="single",
    about="One model answers once, and nobody checks its answer. It is the cheapest way, and says so.",
    rank=0,
    others=("answerer",),
    examples=('parley ask "..." --protocol single',),
)
