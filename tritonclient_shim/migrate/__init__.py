"""``migrate``: rewrite sources that use the retired client for tritonclient.

``cli/migrate.py`` and ``cli/scan.py`` import this. ``scan`` reports which uses can be rewritten.
"""
