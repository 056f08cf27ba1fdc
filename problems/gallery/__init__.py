"""Published optimal control problems of first-order systems, x' = f(x, u), as textbooks state them."""
