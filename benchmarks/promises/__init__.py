"""What soel says in numbers, held against the truth over many tables: nominal against realised."""
