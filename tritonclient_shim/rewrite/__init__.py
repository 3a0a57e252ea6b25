"""``migrate``: sources that use the retired client → sources that use tritonclient.

Needs libcst, the extra ``tritonclient-shim[migrate]``. ``cli/migrate.py`` imports this, and
``cli/scan.py`` where libcst is there, to know what can be rewritten.
"""
