"""From logits to text: choosing, stopping, and what the KV cache saves."""
