"""How a session of the critic protocol is set up."""

from parley.client.setup.options import ROUND_LIMIT
from parley.client.setup.setup import Setup

SETUP = Setup(
    name="critic",
    about="One seat answers and a critic objects. A judge says when the answer has met the objections.",
    rank=2,
    others=("answerer", "critic", "judge"),
    options=(ROUND_LIMIT,),
)
