"""What a person sees at the end: one self-contained page."""

from soel.report.facts import (
    Asked,
    MethodResult,
    PoolFacts,
    ReportFacts,
    Setup,
    Standout,
    Threshold,
    TopItem,
)
from soel.report.page import render, write_report

__all__ = [
    "Asked",
    "MethodResult",
    "PoolFacts",
    "ReportFacts",
    "Setup",
    "Standout",
    "Threshold",
    "TopItem",
    "render",
    "write_report",
]
