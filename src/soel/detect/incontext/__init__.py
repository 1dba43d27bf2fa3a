"""A network trained on made-up tasks that reads a pool with a few labels; only what is needed to use it."""
