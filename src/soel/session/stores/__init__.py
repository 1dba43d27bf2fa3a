"""Where things are kept: events and model folders."""
