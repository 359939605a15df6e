"""Raw evidence becomes typed records."""
