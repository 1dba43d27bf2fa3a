"""Numbers that many rooms need: distances in O(N) memory, keyed noise, work side by side on all cores."""
