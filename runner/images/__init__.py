"""Deterministic container images from locked inputs."""
