"""How a person is asked for a turn of a competition."""

from parley.client.show.show import FIELDS, Form

FORM = Form(
    asks={
        "confer": "Say to your team what it should do.",
        "speak": "Give your speech.",
        "question": "Ask the other side.",
        "answer": "Answer what you were asked.",
        "captain": "Choose who of your team speaks.",
        "bid": "Say whether you want to speak next.",
        "score": "Mark the speech, from 1 to 10 in each row.",
        "vote": "Say which side convinced you.",
        "review": "Sum up the debate.",
        "summarize": "Sum up this part of the debate.",
    },
    fields={
        **FIELDS,
        "text": ("What you say", ""),
        "answerer": ("Whom you ask", ""),
        "questions": ("Your questions", ""),
        "speaker": ("Who speaks next", ""),
        "direction": ("What the speech is to do", ""),
        "wants": ("I want to speak", ""),
        "urgency": ("How urgent it is", "0 to 1."),
        "point": ("Your point", ""),
        "rule_compliance": ("Keeping the rules", "1 to 10."),
        "violations": ("Violation", ""),
        "violations.kind": ("Which rule", ""),
        "violations.quote": ("Its words", "As they stand in the speech."),
        "violations.note": ("Note", ""),
        "choice": ("Your vote", ""),
        "why": ("Why", ""),
        **{name: (name.capitalize(), "1 to 10.") for name in ("logic", "persuasion", "expression", "teamwork")},
    },
)
