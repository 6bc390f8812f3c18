"""How a person is asked for a turn of a session with a critic."""

from parley.client.show.show import FIELDS, Form

FORM = Form(
    asks={
        "answer": "Answer the question, and meet the objections that were raised so far.",
        "critique": "Object to the answer, or say that you find nothing new.",
        "judge": "Say how well the answer stands, and which objections it meets.",
        "verdict": "Give the final answer and your reasons.",
        "sign": "Say whether the verdict claims less than your answer, and nothing else.",
        "countersign": "Look at what is to be the result, and say what stands against it.",
    },
    fields={
        **FIELDS,
        "objection": ("Your objection", "What is wrong with the answer, or missing from it."),
        "checked": ("What you checked", "For example what you computed."),
        "score": ("Your confidence in the answer", "0 to 100."),
        "repeats": ("The earlier objection that this one repeats", "Its number; 0 if it is new."),
        "met": ("Objections that the answer meets", ""),
        "met.objection": ("Number of the objection", ""),
        "met.quote": ("The sentence that meets it", "Word for word."),
        "check_holds": ("The critic's calculation holds", ""),
        "contradicts": ("Objections that the answer contradicts", "Their numbers."),
        "assumptions": ("What the answer takes for granted", ""),
        "ruling": ("Your ruling", "upholds, narrows or reverses."),
        "reversed_by": ("The objection that reverses the answer", "Its number; 0 if none does."),
        "states": ("The verdict states your answer", "yes or no."),
        "differs": ("What differs", "The clause of the verdict, word for word."),
        "open": ("Objections that are open", "Their numbers; also those that the judge calls open."),
        "reason": ("Why", "For each that the judge does not call open."),
        "fatal": ("A fault that leaves nothing of the answer", "Nothing, if there is none beside the objections."),
    },
)
