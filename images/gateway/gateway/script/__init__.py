"""A model's turns, as a study declares them."""
