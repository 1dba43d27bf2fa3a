"""The heavy steps on a Ray cluster. Nothing here is imported unless it was asked for."""
