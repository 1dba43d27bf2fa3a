"""Simulated experts, who answer like a person would."""

from soel.oracle.simulated import SimulatedExpert

__all__ = ["SimulatedExpert"]
