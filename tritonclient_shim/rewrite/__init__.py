"""``migrate``: sources that use the retired client → sources that use tritonclient.

Needs libcst, the extra ``tritonclient-shim[migrate]``; only ``cli/migrate.py`` imports this.
"""
