"""The way to the v2 server behind the gateway, for both fronts."""
