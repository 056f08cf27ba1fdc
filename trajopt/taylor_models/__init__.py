"""Bounds of a motion's quantities for all times: Taylor models of curves, torques and terms."""
