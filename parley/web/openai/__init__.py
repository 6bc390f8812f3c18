"""The OpenAI-compatible door: whatever speaks that interface may ask a panel in place of a model.

| module | what it is |
|---|---|
| door | the routes |
| parameters | what becomes of each parameter of a request |
| history | the conversation of a request, as texts |
| requests | a request, checked, as a session to open |
| running | a session that is followed while its client waits |
| chat | /v1/chat/completions: the answer, and its chunks |
| typed | the verdict in the form that a program asks for |
| fused | what a panel's members said beside each other |
| errors | errors in OpenAI's form |
"""
