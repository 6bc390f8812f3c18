"""One ASGI service with three interfaces (doors) to the same sessions: web page, OpenAI-compatible endpoint, MCP.

The gateway holds nothing that a session needs. Any number of copies may run, and one that is killed loses no session.
Three rules keep it so:

1. Each principal (parley.web.principals) has its own connection to the bus with its own credentials. The gateway
   decides nothing that the broker decides: it cannot show or do what the broker refuses to this principal.
2. What a page shows comes from LOG and from channels, by way of the bus. A cut stream goes on by the positions that
   the browser has, on any copy.
3. What agents, documents and browsers say is data. It is bounded in size, and it is never markup.

| module | what it is |
|---|---|
| app | the ASGI application: routes of all doors, their order, start and end |
| heads | how long the head of a request may take |
| guard | checks that come before every route: host, origin, who asks, rate and size; headers of every answer |
| principals | who may: tokens, cookies, one-time links; keys from a folder |
| counted | series: requests by door and status |
| connections | one connection to the bus for each principal |
| doors | which doors are opened, and what the operator says of them |
| mcp | the Model Context Protocol: debates as tools |
| openai | the OpenAI-compatible door: a panel in place of a model |
| offered_models | what programs may ask for by name |
| program_sessions | a session that a program asks for, from its opening until the program leaves |
| verdicts | what a session came to, in words that never call agreement what is none |
| errors | each error of Parley as a status and a JSON document |
"""
