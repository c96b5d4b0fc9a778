"""See how a decoder-only language model works, on a real model, with numbers you can check."""

__version__ = "0.1.0"
