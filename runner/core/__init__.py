"""Values and pure functions that every stage shares."""
