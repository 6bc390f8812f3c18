"""Questions on varied subjects, the documents to answer them from, and the answer: the extractive model's measure.

`python -m tests.agents.facts` measures it and writes the figures into docs/extractive.md. A row that the
model gets wrong is kept, with its right answer.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from schemas.text import same
from tests.protocols.consensus.simulate import ask, document, turn_shown

PAGE = Path(__file__).parents[2] / "docs" / "extractive.md"
BEGIN, END = "<!-- measured -->", "<!-- end -->"


@dataclass(frozen=True)
class Row:
    """One question."""

    kind: str
    question: str
    texts: tuple[str, ...]
    answer: str
    """Empty: to abstain is right."""


def row(kind: str, question: str, answer: str, *texts: str) -> Row:
    """A row with its documents' texts."""
    return Row(kind, question, texts, answer)


BRIDGE = (
    "# The Marlow Bridge\n\n"
    "The Marlow Bridge was designed by Ines Okafor and opened to traffic on 4 May 1931. It is 412 metres long "
    "and 18 metres wide. Work took three years and cost $2.4 million. The Halden Bridge upstream is 650 "
    "metres long and was opened in 1958.",
    "# Crossings of the river\n\n"
    "The Marlow Bridge carries 21,000 vehicles a day. It was closed for repairs in March 1977 and reopened in "
    "June 1978. It is repainted every seven years. A storm lasted nine hours in 1962.",
)
TEA = (
    "# Tea\n\n"
    "Green tea is brewed at 80 °C for two minutes; black tea takes four minutes. Thomas Sullivan, a merchant "
    "from New York, sold the first tea bags in 1908. A box holds 40 bags and costs 3 euros.",
    "# Harvest\n\n"
    "On Mount Kirei the leaves are picked in April and in October. About 65 percent of the harvest is "
    "exported to Japan. The oldest garden lies near Port Ayle. White tea is not fermented.",
)
ARCHIVE = (
    "# Server rooms\n\n"
    "The archive server has 12 disks and draws 900 watts. Fans are replaced once a year. Access to the room "
    "is granted by Mara Lindqvist. Logs must be kept for 90 days. The fire door weighs 140 kg.",
    "# Incident of July\n\n"
    "The pump failed at night. Marketing hopes that the pump might be fine. The old pump was unreliable and "
    "expensive, and the auditors found it unsafe. The new pump was tested for a month and was reliable.",
)
RACE = (
    "# The 1904 regatta\n\n"
    "Lena Brandt won the regatta in September 1904, ahead of Otto Falk. Jonas Reed judged it. The course was "
    "11 miles. The winning boat was built by the Falmouth Yard at Penryn.",
    "# Boats\n\n"
    "The Osprey is 9 metres long. The Heron is longer than the Osprey: 14 metres. The Osprey was not damaged "
    "in the storm of 1911. In November the harbour freezes.",
)
LIBRARY = (
    "# The Corran Library\n\n"
    "The Corran Library was founded by Agnes Weir in 1887 with a gift from the town. The present building, by "
    "the architect Piet Hollander, was finished in June 1912 and has 4 floors. Its dome rises to 31 metres.",
    "# Lending\n\n"
    "Books may be borrowed for three weeks. A late book costs 20 cents a day. About 12 percent of loans come "
    "back late. Reading rooms close on Mondays. In 2019 the library lent 310,000 books; in 2009 it lent "
    "280,000.",
)
TRAIN = (
    "# Night train\n\n"
    "The night train leaves Arden at dusk and takes 11 hours to Belmont, 870 km away. It has nine sleeping "
    "cars. The service was restored in December 2021 after a break of six years. Its operator is Nordline.",
    "# Locomotives\n\n"
    "The class 90 weighs 84 tonnes and reaches 160 km/h. Erik Sand drove the first one in 1994. The class 70, "
    "at 129 tonnes, is heavier. No class 90 was ever scrapped.",
)
CLINIC = (
    "# Vaccine fridge\n\n"
    "Vaccines are stored at 5 °C. The fridge is checked every four hours. Dr. Amara Nwosu is responsible for "
    "the fridge. Doses expire after 30 days.",
    "# Paper or tablets\n\n"
    "The tablets were reliable in the trial and saved two hours a day. The paper forms were slow, and three "
    "were lost. The scanner was dropped twice and is broken; nurses found it useless.",
)
OBSERVATORY = (
    "# The observatory\n\n"
    "The observatory stands on Mount Serrat, 2,140 metres above the sea. It burned down on 2 August 1936 and "
    "was rebuilt in four years, paid for by the Moreau Trust. Ruth Almeida discovered a comet there in 1951, "
    "which Carl Moreau had looked for in vain.",
    "# Instruments and visitors\n\n"
    "The main telescope has a mirror of 2.5 metres in width. A second telescope, built in 1962, is used for "
    "teaching. In 2023 the observatory had 41,000 visitors, after 36,500 in 2022.",
)
BAKERY = (
    "# The bakery\n\n"
    "The bakery has three ovens. Rye bread bakes for 50 minutes at 230 °C, rolls for 18 minutes. Its head is "
    "Sami Haddad. The contract with Weld & Co. for flour ends on 31 March 2027.",
    "# Review of the year\n\n"
    "Flour costs 480 euros a tonne. The gas oven was repaired twice, is unreliable and wasteful, and failed "
    "the inspection. The electric oven is cheap to run and reliable. A night baker would be expensive, and "
    "the trial with a night baker failed.",
)

ROWS = (
    row("when", "When did the Marlow Bridge open?", "4 May 1931", *BRIDGE),
    row("when", "In which year was the Halden Bridge opened?", "1958", *BRIDGE),
    row("when", "When was the Marlow Bridge closed?", "March 1977", *BRIDGE),
    row("when", "When did the Marlow Bridge reopen?", "June 1978", *BRIDGE),
    row("when", "When was the Marlow Bridge demolished?", "", *BRIDGE),
    row("when", "When were the first tea bags sold?", "1908", *TEA),
    row("when", "When was the regatta won by Lena Brandt?", "September 1904", *RACE),
    row("who", "Who designed the Marlow Bridge?", "Ines Okafor", *BRIDGE),
    row("who", "Who owns the Marlow Bridge?", "", *BRIDGE),
    row("who", "Who picks the leaves on Mount Kirei?", "", *TEA),
    row("who", "Who sold the first tea bags?", "Thomas Sullivan", *TEA),
    row("who", "Who grants access to the room?", "Mara Lindqvist", *ARCHIVE),
    row("who", "Who won the regatta?", "Lena Brandt", *RACE),
    row("who", "Who built the winning boat?", "Falmouth Yard", *RACE),
    row("who", "Who froze the harbour?", "", *RACE),
    row("where", "Where does the oldest garden lie?", "Port Ayle", *TEA),
    row("where", "Where was the Osprey sold?", "", *RACE),
    row("size", "How long is the Marlow Bridge?", "412 metres", *BRIDGE),
    row("size", "How wide is the Marlow Bridge?", "18 metres", *BRIDGE),
    row("size", "How long is the Osprey?", "9 metres", *RACE),
    row("size", "How deep is the harbour?", "", *RACE),
    row("size", "How heavy is the fire door?", "140 kilograms", *ARCHIVE),
    row("size", "How far was the course of the regatta?", "11 miles", *RACE),
    row("duration", "How long did the storm last?", "9 hours", *BRIDGE),
    row("duration", "How long does black tea take?", "4 minutes", *TEA),
    row("duration", "How long must logs be kept?", "90 days", *ARCHIVE),
    row("duration", "How often is the Marlow Bridge repainted?", "Every 7 years", *BRIDGE),
    row("amount", "How much did the Marlow Bridge cost?", "$2,400,000", *BRIDGE),
    row("amount", "How many disks does the archive server have?", "12 disks", *ARCHIVE),
    row("amount", "How many pupils does the school have?", "", *ARCHIVE),
    row("amount", "What percentage of the harvest is exported?", "65 %", *TEA),
    row("yes or no", "Did the Marlow Bridge open in 1931?", "Yes", *BRIDGE),
    row("yes or no", "Did the Marlow Bridge open in 1958?", "No", *BRIDGE),
    row("yes or no", "Was the Marlow Bridge reopened before 1978?", "No", *BRIDGE),
    row("yes or no", "Does the archive server have 16 disks?", "No", *ARCHIVE),
    row("yes or no", "Is the Heron longer than 10 metres?", "Yes", *RACE),
    row("yes or no", "Was the Osprey damaged in the storm?", "No", *RACE),
    row("yes or no", "Was the Heron damaged in the storm?", "", *RACE),
    row("yes or no", "Did Otto Falk win the regatta?", "No", *RACE),
    row("what to do", "Should we replace the old pump?", "Yes", *ARCHIVE),
    row("what to do", "Should we not use the new pump?", "Use the new pump", *ARCHIVE),
    row("what to do", "Should we keep the old pump or the new pump?", "New pump", *ARCHIVE),
    row("when", "When was the Corran Library founded?", "1887", *LIBRARY),
    row("when", "When was the night train restored?", "December 2021", *TRAIN),
    row("when", "When was the class 70 built?", "", *TRAIN),
    row("who", "Who founded the Corran Library?", "Agnes Weir", *LIBRARY),
    row("who", "Who was the architect of the present building?", "Piet Hollander", *LIBRARY),
    row("who", "Who operates the night train?", "Nordline", *TRAIN),
    row("who", "Who drove the first class 90?", "Erik Sand", *TRAIN),
    row("who", "Who is responsible for the fridge?", "Amara Nwosu", *CLINIC),
    row("who", "Who repaired the scanner?", "", *CLINIC),
    row("where", "Where does the night train leave?", "", *TRAIN),
    row("size", "How high is the dome of the library?", "31 metres", *LIBRARY),
    row("size", "How heavy is the class 90?", "84 tonnes", *TRAIN),
    row("size", "How fast is the class 90?", "160 km/h", *TRAIN),
    row("size", "How far is Belmont from Arden?", "870 kilometres", *TRAIN),
    row("duration", "How long may books be borrowed?", "3 weeks", *LIBRARY),
    row("duration", "How long does the night train take to Belmont?", "11 hours", *TRAIN),
    row("duration", "How often is the fridge checked?", "Every 4 hours", *CLINIC),
    row("amount", "How many sleeping cars does the night train have?", "9 cars", *TRAIN),
    row("amount", "How many floors does the building have?", "4 floors", *LIBRARY),
    row("amount", "How many books did the library lend in 2009?", "280,000 books", *LIBRARY),
    row("amount", "What share of loans comes back late?", "12 %", *LIBRARY),
    row("yes or no", "Was the building finished in 1912?", "Yes", *LIBRARY),
    row("yes or no", "Was the library founded in 1912?", "No", *LIBRARY),
    row("yes or no", "Does the class 90 weigh more than 100 tonnes?", "No", *TRAIN),
    row("yes or no", "Was the class 90 ever scrapped?", "No", *TRAIN),
    row("yes or no", "Do doses expire after 60 days?", "No", *CLINIC),
    row("yes or no", "Is the library open on Sundays?", "", *LIBRARY),
    row("what to do", "Should we use tablets or paper forms?", "Tablets", *CLINIC),
    row("what to do", "Should we keep the scanner?", "No", *CLINIC),
    row("what to do", "Should we not buy tablets?", "Buy tablets", *CLINIC),
    row("when", "When does the contract with Weld & Co. end?", "31 March 2027", *BAKERY),
)  # fmt: skip
"""Those on which the rules were tried out."""

FRESH = (
    row("when", "When did the observatory burn down?", "2 August 1936", *OBSERVATORY),
    row("when", "When was the second telescope sold?", "", *OBSERVATORY),
    row("when", "When was the contract for flour signed?", "", *BAKERY),
    row("who", "Who discovered the comet?", "Ruth Almeida", *OBSERVATORY),
    row("who", "Who paid for the rebuilding?", "Moreau Trust", *OBSERVATORY),
    row("who", "Who is the head of the bakery?", "Sami Haddad", *BAKERY),
    row("who", "Who cleans the ovens?", "", *BAKERY),
    row("where", "Where is the observatory?", "Mount Serrat", *OBSERVATORY),
    row("size", "How wide is the mirror of the main telescope?", "2.5 metres", *OBSERVATORY),
    row("size", "How long is the dome?", "", *OBSERVATORY),
    row("size", "How hot is the oven?", "230 °C", *BAKERY),
    row("duration", "How long does rye bread bake?", "50 minutes", *BAKERY),
    row("duration", "How long did the rebuilding take?", "4 years", *OBSERVATORY),
    row("amount", "How many visitors came to the observatory in 2023?", "41,000 visitors", *OBSERVATORY),
    row("amount", "How much does flour cost?", "€480", *BAKERY),
    row("amount", "How many ovens does the bakery have?", "3 ovens", *BAKERY),
    row("yes or no", "Did the observatory burn down in 1940?", "No", *OBSERVATORY),
    row("yes or no", "Did Ruth Almeida discover the comet?", "Yes", *OBSERVATORY),
    row("yes or no", "Did Carl Moreau discover the comet?", "No", *OBSERVATORY),
    row("yes or no", "Is the mirror wider than 3 metres?", "No", *OBSERVATORY),
    row("yes or no", "Does rye bread contain nuts?", "", *BAKERY),
    row("what to do", "Should we keep the gas oven or the electric oven?", "Electric oven", *BAKERY),
    row("what to do", "Should we repair the gas oven?", "No", *BAKERY),
    row("what to do", "Should we not hire a night baker?", "Do not hire a night baker", *BAKERY),
)  # fmt: skip
"""Written when the rules stood, and not used to mend them: what may be expected elsewhere."""


def answer(r: Row) -> str:
    """What the extractive model answers to a row; empty if it abstains."""
    documents = [document(f"{i}.md", text) for i, text in enumerate(r.texts)]
    return str(ask(turn_shown(r.question, documents)).answer)


def is_right(r: Row, given: str) -> bool:
    """Whether an answer is the row's; both empty: it abstained and should have."""
    return same(given, r.answer) if r.answer else not given


def table(every: Sequence[Row]) -> str:
    """How it does on these, as Markdown: by kind, and what goes wrong."""
    given = {r: answer(r) for r in every}
    lines = ["| asked | questions | right | abstained wrongly | wrong |", "|---|---|---|---|---|"]
    for kind in (*dict.fromkeys(r.kind for r in every), "all"):
        rows = [r for r in every if kind in (r.kind, "all")]
        right = sum(is_right(r, given[r]) for r in rows)
        silent = sum(not given[r] and bool(r.answer) for r in rows)
        lines.append(f"| {kind} | {len(rows)} | {right} | {silent} | {len(rows) - right - silent} |")
    missed = [
        f"- {r.question} It says {given[r] or 'nothing'}, right is {r.answer or 'to abstain'}."
        for r in every
        if not is_right(r, given[r])
    ]
    return "\n".join([*lines, *(["", "Not right:", "", *missed] if missed else [])])


def measured() -> str:
    """Both tables."""
    return (
        f"Questions that it was tried on while its rules were written:\n\n{table(ROWS)}\n\n"
        f"Questions that were written afterwards, which tell better what to expect:\n\n{table(FRESH)}"
    )


def main() -> None:
    """Write the figures into the page."""
    page = PAGE.read_text()
    PAGE.write_text(re.sub(f"(?s){BEGIN}.*{END}", lambda _: f"{BEGIN}\n{measured()}\n{END}", page))


if __name__ == "__main__":
    main()
