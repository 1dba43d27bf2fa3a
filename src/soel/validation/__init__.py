"""Checks of what people hand in, shared by the rooms above: labels, numbers, names, texts and ids."""

from soel.validation.labels import check_labels, is_missing, is_number
from soel.validation.numbers import check_count, check_share
from soel.validation.text import (
    LONGEST_GUIDELINES,
    LONGEST_ID,
    LONGEST_NAME,
    LONGEST_NOTE,
    TEXT_PATTERN,
    check_distinct,
    check_id,
    check_text,
    clean_name,
)

__all__ = [
    "LONGEST_GUIDELINES",
    "LONGEST_ID",
    "LONGEST_NAME",
    "LONGEST_NOTE",
    "TEXT_PATTERN",
    "check_count",
    "check_distinct",
    "check_id",
    "check_labels",
    "check_share",
    "check_text",
    "clean_name",
    "is_missing",
    "is_number",
]
