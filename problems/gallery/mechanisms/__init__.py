"""Arms, pendulums, a walker, a crane and a geared motor: several bodies, joints and drives."""
