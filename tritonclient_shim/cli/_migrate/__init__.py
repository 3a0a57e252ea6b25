"""``migrate``: what it learns of models, and its report."""
