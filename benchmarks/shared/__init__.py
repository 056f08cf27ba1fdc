"""What several benchmarks use: timing, peers in processes of their own, tables and parts of pages."""
