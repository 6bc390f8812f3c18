"""Kinds of turns of the critic protocol: the answerer answers, the critic objects, the judge rewrites, rules and writes
the verdict, the helper compares."""

from agents.protocols.kit import Kind
from schemas.protocols.critic import (
    Answer,
    AnswerBrief,
    CompareBrief,
    Critique,
    CritiqueBrief,
    JudgeBrief,
    Judgement,
    Raised,
    RewriteBrief,
    Rewritten,
    Similarities,
    Verdict,
    VerdictBrief,
)

POSTS = {"answer": Answer, "objection": Raised}

KINDS = {
    "rewrite": Kind(brief=RewriteBrief, reply=Rewritten),
    "answer": Kind(brief=AnswerBrief, reply=Answer),
    "critique": Kind(brief=CritiqueBrief, reply=Critique, posts=POSTS),
    "press": Kind(brief=CritiqueBrief, reply=Critique, posts=POSTS),
    "compare": Kind(brief=CompareBrief, reply=Similarities),
    "judge": Kind(brief=JudgeBrief, reply=Judgement, posts=POSTS),
    "verdict": Kind(brief=VerdictBrief, reply=Verdict, posts=POSTS),
}
