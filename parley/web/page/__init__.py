"""The web page's half on the server: snapshots and streams of sessions as JSON, and what a page may ask for.

| module | what it is |
|---|---|
| shapes, messages | every document and event, and the routes |
| door | the routes |
| reading_requests | reading what a request asks |
| reading | lists, snapshots, streams, exports, the same events under other settings (replaying) |
| starting, start_forms | what may be started, estimates, openings |
| people | cancelling, the inbox, seats, feedback, forks, who is there |
| hub, feed | one feed for each principal and session |
| snapshot | what a session has come to, as documents |
| stream | server-sent events from a position on |
| seats, person, turn_fields | seats that people take in the browser, what these are asked, and the form |
"""
