"""The Model Context Protocol: debates as tools of editors and assistants, over stdio and over streamable HTTP.

| module | what it is |
|---|---|
| server | the server: its tools and resources, registered |
| tools | the tools: functions over whoever asks |
| options | what the tools take, each option declared once |
| results | what tools give back, as models with schemas |
| following | a session followed to its end: progress, questions to a person, a client that leaves |
| projects | a folder under an allowed root, as documents |
| door | the server at /mcp, behind the guard |
"""
