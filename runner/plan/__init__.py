"""A study becomes a plan and a lock."""
