"""Reviews of small diffs with a known defect, or none: what a reviewer finds, with an expert's prompt and with a plain
one (research/parley_research/defects/README.md)."""
