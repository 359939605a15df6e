"""How certain a contrast is, the same on every platform, and what a study of a given size can find."""
