"""What a model does with a text: heads, layers, parts."""
