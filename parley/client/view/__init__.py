"""One fold of a session's log and posts into what anybody shows."""
