"""What the package promises when servers, networks and processes fail, tested many times."""
