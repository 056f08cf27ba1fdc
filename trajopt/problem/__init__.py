"""What is asked: costs, constraints, unknowns and guesses, checked where they are stated."""
