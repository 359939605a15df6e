"""Records and scores become a sealed summary."""
