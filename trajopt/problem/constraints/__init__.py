"""Constraints from the arguments of a problem's methods: boundary values, integrals, periodicity, designs."""
