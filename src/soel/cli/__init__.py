"""The command line: one verb per step."""
