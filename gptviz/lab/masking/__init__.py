"""The mask taken away, and the checks that find a leak."""
