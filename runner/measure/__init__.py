"""Costs and checks, computed from records."""
