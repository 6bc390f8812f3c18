"""How a person is asked for a turn of a measured debate."""

from parley.client.show.show import FIELDS, Form

FORM = Form(
    asks={
        "blind": "Say how likely each outcome is. Nobody sees it before this round is over.",
        "argue": "Argue, and say how likely each outcome is now.",
        "attack": "Argue against the answer that all hold, as devil's advocate, and say what you believe yourself.",
        "answer": "Answer each argument of the devil's advocate, and say how likely each outcome is now.",
        "crit": "Mark each argument by its reasons and evidence. You do not argue yourself.",
    },
    fields={
        **FIELDS,
        "belief": ("How likely each outcome is", "Together they make 1."),
        "belief.outcome": ("Outcome", ""),
        "belief.p": ("Probability", "0 to 1."),
        "spans": ("Evidence", "Words of a passage, exactly as they stand there."),
        "spans.passage": ("Passage", "For example p7."),
        "spans.quote": ("Quoted words", ""),
        "arguments": ("Argument", ""),
        "arguments.claim": ("Claim", ""),
        "arguments.reasons": ("Reasons", ""),
        "arguments.spans": ("Evidence", ""),
        "arguments.spans.passage": ("Passage", "For example p7."),
        "arguments.spans.quote": ("Quoted words", ""),
        "arguments.rebuts": ("Number of the post that it answers", "Leave it empty if it stands alone."),
        "changed": ("What moved your belief, or why it stands", ""),
        "speaks_for": ("Outcome that your arguments speak for", "Another than the one that all hold."),
        "answers": ("Answer to the devil's advocate", "One for each of its arguments."),
        "answers.argument": ("Argument", "For example a7."),
        "answers.why": ("Why it fails, or what it changes", ""),
        "answers.fails": ("It takes nothing from the answer that all hold", "Else your belief in it is lower now."),
        "apart": ("Your words that are another answer", "Of those that were taken for the same."),
    },
)
