"""The options of a gateway, and where their values come from."""
