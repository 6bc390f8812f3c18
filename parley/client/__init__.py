"""Everything that starts, follows, reads and shows a session. The command line, a gateway and an evaluation use it."""
