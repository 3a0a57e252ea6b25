"""What ``tritonclient-shim migrate`` reads, writes and prints."""
