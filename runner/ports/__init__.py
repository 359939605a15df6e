"""Protocols for the outside."""
