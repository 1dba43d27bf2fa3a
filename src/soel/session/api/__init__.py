"""The composition root: puts the parts together."""
