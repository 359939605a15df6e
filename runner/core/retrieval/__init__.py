"""Retrieval on its own: queries and their labels, what a system returned, and what that is worth."""
