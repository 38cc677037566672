"""One run as one HTML file for a browser, made from the event log alone."""
