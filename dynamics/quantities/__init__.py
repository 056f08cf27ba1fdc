"""What follows from a state: frames, momenta, energies, springs and friction."""
