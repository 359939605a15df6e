"""Reconsolidation and its review: the documents that its stages hand to one another."""
