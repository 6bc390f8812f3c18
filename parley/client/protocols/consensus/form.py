"""How a person is asked for a turn of a panel."""

from parley.client.show.show import FIELDS, Form

FORM = Form(
    asks={
        "answer": "Answer the question. Nobody sees your answer before this round is over.",
        "revise": "Read what the others hold, then keep your answer or change it.",
        "compare": "Say which answers are the same, and how close the rest are.",
        "conclude": "Word a sentence that all who hold this answer can sign.",
        "rank": "Rank the answers, the best first. Nobody sees your ballot before all are in.",
        "approve": "Say which answers you could accept. Nobody sees your ballot before all are in.",
        "score": "Score each answer. Nobody sees your ballot before all are in.",
        "judge": "Choose one of the answers, and name the argument that decides.",
        "sign": "Say which sentence states your answer, or that none does.",
    },
    fields={
        **FIELDS,
        "change": ("What became of your last answer", ""),
        "change_reason": ("What changed your mind", "Needed where your answer changed."),
        "moved_by": ("Quotations by others that moved you", "Words of their documents that were new to you."),
        "moved_by.document": ("Document", ""),
        "moved_by.quote": ("Quoted words", ""),
        "abstains": ("I have no answer", "You are counted as abstaining in this round."),
        "argument": ("An argument that moved you", ""),
        "argument.post": ("Whose argument", ""),
        "argument.claim": ("What it says", ""),
        "states": ("Which of these states your answer", "Other words or more detail make no difference."),
        "differs": (
            "Words that differ from your answer",
            "Of a sentence that you do not choose, exactly as they stand there.",
        ),
        "reason": ("Why", "In a sentence."),
        "because": ("The argument that decides", "In a sentence."),
        "order": ("Numbers of the answers", "All of them, the best first."),
        "approved": (
            "Numbers of the answers that you could accept",
            "Leave it empty if you can accept none, and say why.",
        ),
        "scores": ("Scores", "0 to 10 for each answer, in the order of their numbers."),
        "post": ("Where it stands", "The number of the post."),
        "quote": ("Its words", "Exactly as they stand there."),
        "choice": ("Number of the answer", ""),
        "reservation": ("What you hold beside it", "You sign all the same, and it is printed with the answer."),
    },
    choices={
        "change.kept": "I keep it",
        "change.partly": "I changed it in part",
        "change.adopted": "I took over another one",
        "states.both": "Both state it",
        "states.neither": "None of them states it",
    },
    later=frozenset({"change", "change_reason", "moved_by", "argument"}),
)
