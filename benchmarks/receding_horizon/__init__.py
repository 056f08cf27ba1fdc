"""Receding horizons in closed loop with plants in MuJoCo."""
