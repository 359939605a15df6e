"""Pairbench: paired, containerized, recomputable measurements of memories for coding agents."""

__version__ = "0.1.0"
