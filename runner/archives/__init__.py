"""One file that holds what a stranger needs to verify runs and to run them again."""
