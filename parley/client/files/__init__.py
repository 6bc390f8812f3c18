"""Files that people write, read strictly: YAML and JSON."""
