"""How a session of the madp protocol is set up."""

from client.protocols.setup import Setup

SETUP = Setup(
    name="madp",
    opening_only=("expert", "folder", "files_mentioned", "code_snippets", "prior_conversation"),
)
