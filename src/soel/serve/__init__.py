"""Scoring behind an endpoint: a fitted model over HTTP, its metrics, its card, and answers that come back as labels."""
