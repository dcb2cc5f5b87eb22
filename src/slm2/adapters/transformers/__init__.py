"""For transformers: ``pip install 'slm2[transformers]'``."""
