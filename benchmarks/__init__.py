"""Speed and memory, measured against a peer or the machine's own limit in the same run."""
