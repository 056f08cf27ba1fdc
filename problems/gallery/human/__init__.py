"""Motions of people beside walking, on their feet in the sagittal plane: standing up, jumping, lifting."""
