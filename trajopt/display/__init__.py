"""Text and HTML of objects: the lines of a `repr`, the cards of a notebook, tables of samples."""
