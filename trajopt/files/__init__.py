"""Files on disk: written whole or not at all, and read as claims whose names, sizes and kinds are checked."""
