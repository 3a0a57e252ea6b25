"""A release of tritonclient-shim: ``scripts/release``. Not distributed in the wheel."""
