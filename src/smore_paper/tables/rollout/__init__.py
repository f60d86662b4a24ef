"""The main comparison: every model on every benchmark."""
