"""Newton's method on the optimality conditions, by quadratic programs whose active set is nearly known."""
