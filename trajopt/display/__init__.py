"""What objects show of themselves: the lines of a `repr`, the cards of a notebook, tables of samples."""
