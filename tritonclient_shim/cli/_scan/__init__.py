"""``scan``: which files, what is left out of what they have, and what is configured."""
