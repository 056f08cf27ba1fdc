"""What users call and hold: problems, solve and compile, solutions with their checks and files."""
