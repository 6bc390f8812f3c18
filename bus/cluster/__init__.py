"""Several servers that are one bus: their configurations, their certificates, and three of them as children."""

WHY_ODD = "More than half must be there: 2 outlive the loss of none, as 1 does, and 4 the loss of one, as 3 do"
"""Why the number of servers, and of a stream's copies, is odd."""
