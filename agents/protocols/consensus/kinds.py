"""Kinds of turns of the consensus protocol: panelists answer and revise, the analyst scores and synthesizes."""

from agents.protocols.kit import Kind
from schemas.protocols.consensus import (
    Analysis,
    Assessment,
    PanelBrief,
    Position,
    ScoreBrief,
    Synthesis,
    SynthesisBrief,
)

POSTS = {
    "position": Position,
    "analysis": Analysis,
    "assessment": Assessment,
    "synthesis": Synthesis,
    "answer": Position,
    "revise": Position,
}

KINDS = {
    "answer": Kind(brief=PanelBrief, reply=Position, posts=POSTS),
    "revise": Kind(brief=PanelBrief, reply=Position, posts=POSTS),
    "score": Kind(brief=ScoreBrief, reply=Analysis, posts=POSTS),
    "synthesize": Kind(brief=SynthesisBrief, reply=Synthesis, posts=POSTS),
}
