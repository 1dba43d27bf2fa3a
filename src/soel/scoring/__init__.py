"""Passes over all rows of data that are larger than a pool: drawing, scoring, measuring."""
