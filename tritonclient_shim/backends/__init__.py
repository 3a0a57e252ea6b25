"""The two protocols: everything that imports tritonclient to talk to a server."""
