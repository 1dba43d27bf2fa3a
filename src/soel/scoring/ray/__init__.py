"""Where the computing happens."""
