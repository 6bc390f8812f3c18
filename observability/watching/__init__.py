"""What is watched: service level objectives and alerts as tables, and all that is made from them.

`python -m deploy.watching` writes the rules of Prometheus, the dashboards and the page of the objectives.
"""
