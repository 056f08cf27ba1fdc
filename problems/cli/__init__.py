"""The command `trajopt`: solve, verify, plot and sweep problems by name or from a file."""
