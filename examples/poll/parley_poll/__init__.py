"""The protocol `poll` for Parley: everybody votes once, and the votes are counted.

| module | what it is | found as |
|---|---|---|
| messages | settings, briefs, replies and posts | imported by the others |
| machine | the moderator's side: a table of states | entry point `parley.protocols` |
| kit | the agents' side: kinds of turns, prompts, answers without a language model | entry point `parley.kits` |
| show | options on the command line, and what a session says | entry point `parley.shows` |
"""
