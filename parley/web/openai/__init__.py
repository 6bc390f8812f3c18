"""The OpenAI-compatible door: whatever speaks that interface may ask a panel in place of a model.

| module | what it is |
|---|---|
| door | the routes |
| parameters | what becomes of each parameter of a request |
| requests | a request, checked, as a session to open |
| running | a session that is followed while its client waits |
| chat | /v1/chat/completions: the answer, and its chunks |
| responses | /v1/responses: the answer, and its events |
| past | a response that is read again, cancelled or deleted |
| background | jobs of chat front ends (titles, tags): never a debate |
| errors | errors in OpenAI's form |
"""
