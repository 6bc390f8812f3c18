"""Finds the experts for a task, and how sure each match is (seeds/madp.md 3; docs/experts.md).

words        the source's own score: triggers that stand in the prompt as bare strings; and experts' own words, in any
             inflection
matcher      these words, and how near the task's vector is to those of what a specification says
ask_model    the helper's language model, where that is unsure
"""
