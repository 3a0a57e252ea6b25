"""Deprecation notices: the only door to the warnings module."""
