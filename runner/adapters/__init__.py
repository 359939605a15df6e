"""The real outside."""
