"""Tools of several benchmarks: timing, peers in processes of their own, tables and parts of pages."""
