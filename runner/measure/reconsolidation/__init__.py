"""How well does a memory merge, keep and connect what it was given? Frozen scorers, one module a version."""
