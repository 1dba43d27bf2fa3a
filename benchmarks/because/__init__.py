"""What it is worth that an expert names the column that is why, beside the same answers without a name."""
