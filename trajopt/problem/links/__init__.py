"""Problems in phases, and the links that join their ends."""
