"""Published optimal control problems posed as a user would pose them at first, solved with defaults."""
