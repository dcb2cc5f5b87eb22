"""Conformance: the contract's vectors, the tiers of verification, and what runs them."""
