"""The critic protocol over recorded debates: it cannot be played, and the report says why.

Its confidence is computed from objections and from a judge's ruling on each. No recorded set has objections, and to
make them up would be to invent the data. Live runs play it.
"""

from parley_research.debates.method import Budget, Method, Needs, Outcome
from parley_research.debates.methods.votes import nothing
from parley_research.debates.record import RecordedDebate
from parley_research.debates.registry import add_method


class Critic(Method):
    """Never run on recorded debates: no data set records objections."""

    name, title, family = "critic", "critic", "protocol"
    needs: frozenset[Needs] = frozenset({"objections"})

    def run(self, debate: RecordedDebate, budget: Budget) -> Outcome:
        return nothing(debate)


add_method(Critic.name, Critic)
