"""Sampling2 as an executable specification (contract/sampling.md): logits to an id, the same bits on every host."""
