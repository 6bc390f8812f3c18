"""The web page's half on the server: snapshots and streams of sessions as JSON, and what a page may ask for.

| module | what it is |
|---|---|
| shapes | every document and event, and the routes |
"""
