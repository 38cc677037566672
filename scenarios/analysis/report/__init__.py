"""The report of a dataset: one HTML page with the results of the analyses."""
