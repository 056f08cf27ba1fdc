"""Sequential quadratic programming within a trust region, for many limits of which few bind."""
