"""Shared basics: errors, argument checks, arrays, tolerances, files, caches, BLAS threads."""
