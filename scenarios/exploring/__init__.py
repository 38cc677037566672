"""Random scenarios from seeds: drawn, run, judged, shrunk, and what of the system they have reached."""
