"""`python -m benchmarks detection`: how well soel and others detect, on folders of labelled tables, with few labels."""
