"""The shim and the patches do the same: generated conversations, played to both and compared."""
