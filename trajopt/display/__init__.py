"""Text and HTML of objects: the lines of a `repr`, the cards of a notebook, charts, tables of samples."""
