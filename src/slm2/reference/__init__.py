"""The executable specification: each part in the most readable way, over the same artifact as the engine."""
