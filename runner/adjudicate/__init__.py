"""Blinded review: outputs are made into a packet and its key, and decisions on the packet into an assessment."""
