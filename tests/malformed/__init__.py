"""Malformed input: what the shim or the patches make of it, compared with the bare release."""
