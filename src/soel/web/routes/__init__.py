"""The routes of the page, one file a subject."""
