"""Work in processes of its own: making a session, drawing a round, training."""
