"""Many problems solved side by side: lists, sweeps over parameters, their table and their folder."""
