"""HTML pages in single files: the template and the style sheet that all pages extend; charts and figures of reports."""
