"""A package for Parley: the protocol `jury`, with a channel, a role and stop reasons of its own; an agent; a retriever.

| module | what it is | found as |
|---|---|---|
| rows | stop reasons, the jury's room, its role | entry point `parley.rows` |
| messages | settings, briefs, replies and posts | imported by the others |
| machine | the moderator's side: a table of states | entry point `parley.protocols` |
| kit | the agents' side: kinds of turns, prompts, answers without a language model | entry point `parley.kits` |
| show | options on the command line, and what a session says | entry point `parley.shows` |
| retriever | orders passages by their length | entry point `parley.retrievers` |
| stop_rule | ends any session after two rounds | entry point `parley.stop_rules` |
| agents | a juror that is a function | `model: "parley_jury.agents:steady"` |
"""
