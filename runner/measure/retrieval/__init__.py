"""What a ranking of sources is worth: folded, measured, held against boundaries, and compared between systems."""
