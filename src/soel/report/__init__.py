"""What a person sees: progress while it runs, and one self-contained page at the end."""
