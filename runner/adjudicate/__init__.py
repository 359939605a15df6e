"""Blinded review."""
