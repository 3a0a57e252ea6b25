"""``scan``: known uses, and the report."""
