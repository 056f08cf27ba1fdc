"""Programs that are built once and solved again with other values."""
