"""Attacks on a live bus, each made with the key of a user who may not do it (docs/spec-map/bus.md).

    trial       all of them as each user, a row for each
    scene       the connections, the secret that is worth stealing, the referee who looks whether an attack had effect
    actor       one user who attacks: publishes, listens, and is told what became of it
    broker      what the broker refuses by the subject: others' channels, turns and inboxes, the log, JetStream's API
    answers     an answer that is wanted where its asker may not publish; headers and message ids
    turns       what only a moderator can refuse: tokens, others' turns, others' sessions
    owners      what one client tries on a session of another, or beneath it

What an attack would destroy where it succeeds is the check's own: a turn, a log entry, a consumer made for it.
"""
