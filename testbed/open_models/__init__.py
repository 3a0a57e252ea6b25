"""Models for the other servers of the protocol; what runs there needs numpy and nothing of ours."""
