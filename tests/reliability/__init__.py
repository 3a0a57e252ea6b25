"""What the package promises when servers, networks and processes fail, tried in amounts."""
