"""Terms, which users minimize and bound: their arithmetic, and terms made of NumPy classes."""
