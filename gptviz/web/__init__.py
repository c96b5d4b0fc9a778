"""What the server answers besides Gradio: the page's own files, and the questions that the page asks."""
