"""Other libraries on cases of their own, each run by itself in an environment of its own."""
