"""Reading data: files and frames in, one float matrix with names and ids out."""
