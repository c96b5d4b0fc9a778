"""A page's picture as one file: for a notebook, a slide, or to keep. It asks no server and no other host."""
