"""One run as one HTML file, to be read in a browser: made from the event log, and of nothing else."""
