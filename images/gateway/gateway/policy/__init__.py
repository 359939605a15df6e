"""The policy `plain-agent`, version 1: an agent's next turn from the request alone. Pure: no clock, no files."""
