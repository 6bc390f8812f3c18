"""The web page's half on the server: snapshots and streams of sessions as JSON, and what a page may ask for.

| module | what it is |
|---|---|
| shapes, asked, events | every document and event, and the routes |
| door | the routes |
| asking | reading what a request asks |
| reading | lists, snapshots, streams, exports |
| starting, offers | what may be started, estimates, openings |
| people | cancelling, the inbox, seats, who is there |
| shadow | the same events under other rules |
| hub, feed | one feed for each principal and session |
| fold, snapshot | what a session has come to, as documents |
| stream, positions | server-sent events from a position on |
| seats, turns | seats that people take in the browser, and what these are asked |
| passages | where quotations stand in documents |
"""
