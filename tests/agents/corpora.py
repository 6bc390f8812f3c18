"""Small corpora of other kinds than the examples: nothing in the extractive model may be made for one of them."""

from parley.schemas.session import Document
from tests.protocols.consensus.simulate import document

MONOLITH = "Should we start with a monolith or microservices for the shop?"
MONOLITH_DOCUMENTS: list[Document] = [
    document(
        "team.txt",
        "The team has four engineers. A monolith is simple to deploy and easy to test for such a team. "
        "Microservices need a platform team, which is expensive.",
        "panelist_1",
    ),
    document(
        "growth.txt",
        "Microservices scale well for the search of the shop, and the search team prefers microservices. "
        "With microservices a fault in one service is contained, which is safer than a monolith.",
        "panelist_2",
    ),
    document(
        "operations.txt",
        "Operations measured the shop for a month. The monolith was stable and met its limits. "
        "Three microservices failed at once in the trial, and the network between the microservices was unreliable.",
        "panelist_3",
    ),
]

CAPITAL = "What is the capital of Lithuania?"
CAPITAL_DOCUMENTS: list[Document] = [
    document("a.md", "Vilnius is the capital of Lithuania. It lies where two rivers meet.", "panelist_1"),
    document(
        "b.md", "Kaunas was the seat of government between the wars. The capital of Lithuania is Vilnius.", "panelist_2"
    ),
    document("c.md", "The parliament of Lithuania sits in Vilnius, the capital. Trakai has a castle.", "panelist_3"),
]
