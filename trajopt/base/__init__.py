"""Shared basics: errors, argument checks, arrays, files, caches, BLAS threads, lazy imports, charts."""
