"""What every other room uses: errors, checks of arguments, arrays, files, caches, BLAS threads, charts."""
