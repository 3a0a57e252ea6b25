"""The gateway as a service that an operator keeps running: its processes and what they report."""
