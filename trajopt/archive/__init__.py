"""Solutions in .npz files: written whole, read with every value checked."""
