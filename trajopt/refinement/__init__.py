"""Better answers from answers: inserted knots, limits for all times, and exact switching structures."""
