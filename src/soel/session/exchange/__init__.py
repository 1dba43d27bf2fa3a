"""Labels in and out of a session."""
