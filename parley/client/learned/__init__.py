"""What past sessions say of their members: verdicts from feedback, and the table that a session is opened with."""
