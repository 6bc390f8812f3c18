"""Data sets, stopping rules, statistics and reports: how well Parley's parts do on recorded debates."""
