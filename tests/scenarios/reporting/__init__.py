"""Reports of runs: what they are made of, and how they look and behave in a browser."""
