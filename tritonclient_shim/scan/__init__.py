"""Finds legacy uses in source code (``scan``), and runs scripts of 2019 as they are (``run``)."""
