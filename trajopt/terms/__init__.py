"""What users minimize and bound: terms, their arithmetic, and terms made of NumPy classes."""
