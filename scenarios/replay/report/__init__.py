"""The report of a dataset: one page of HTML, made of what the analyses tell."""
