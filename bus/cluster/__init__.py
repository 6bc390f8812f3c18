"""Several servers that are one bus: their configurations, their certificates, and three of them as children."""
