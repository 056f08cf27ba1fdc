"""Files on disk: written whole or not at all; names, sizes and kinds of arrays are checked before reading."""
