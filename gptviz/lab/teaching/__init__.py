"""How a decoder is taught, and what spoils it."""
