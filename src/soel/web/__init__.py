"""The page where experts label: a small server for one session."""
