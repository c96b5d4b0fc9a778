"""How the bundled model is made; the app never imports this."""
