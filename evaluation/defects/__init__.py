"""Reviews of small diffs with a known defect, or none: what a reviewer finds, with an expert's prompt and with a plain
one (evaluation/defects/README.md)."""
