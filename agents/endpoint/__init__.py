"""Requests to a server that speaks as OpenAI does: connections, limits, answers and prices."""
