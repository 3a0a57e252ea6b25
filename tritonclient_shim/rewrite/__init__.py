"""``migrate``: sources that use the retired client → sources that use tritonclient.

``cli/migrate.py`` imports this, and ``cli/scan.py``, which says what can be rewritten.
"""
