"""Source code → its legacy uses, without running it (``tritonclient-shim scan``)."""
