"""Version of the project, as in the package index, saved solutions and `trajopt --version`."""

__version__ = "0.2.0"
