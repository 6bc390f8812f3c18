"""Random inputs for everything that reads what others wrote. Each reader may raise what it says it raises, and nothing
else.

`python -m tests.fuzz` is the long run; a short one is part of the suite.
"""
