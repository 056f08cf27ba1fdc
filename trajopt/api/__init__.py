"""Public calls and classes: problems, solve and compile, solutions with their checks and files."""
