"""Generated attacks on verdicts: problems and files for which PASS, "converged" or "holds" would be wrong."""
