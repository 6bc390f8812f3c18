"""What starts, follows, reads and shows a session, below every front door: the command line, a gateway, an
evaluation."""
