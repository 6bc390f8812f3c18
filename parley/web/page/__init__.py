"""The web page's half on the server: snapshots and streams of sessions as JSON, and what a page may ask for.

| module | what it is |
|---|---|
| shapes | every document and event, and the routes |
| door | the routes |
| reading_requests | reading what a request asks |
| reading | lists, snapshots, streams, exports, the same events under other settings |
| starting | estimates, openings |
| form_fields | what may be started, and the form of a turn |
| people | cancelling, the inbox, seats, feedback, forks, who is there |
| hub, feed | one feed for each principal and session |
| snapshot | what a session has come to, as documents |
| stream | server-sent events from a position on |
| seats, person | seats that people take in the browser, and what these are asked |
"""
