"""Where the items of a session come from: a table, a sample of a larger one, pictures; and more of them later."""
