"""Pictures and clips: read as a pool, and to look at."""
