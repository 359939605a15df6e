"""The model gateway: the only way from a trial to a model, and the one place that sees every request."""
