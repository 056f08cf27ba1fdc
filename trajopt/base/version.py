"""Version of the project; the package index, saved solutions and `trajopt --version` tell it."""

__version__ = "0.1.0"
