"""Model back ends and distributed engines; each needs an extra of its own and is imported by its own name alone."""
