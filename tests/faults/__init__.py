"""Faults over real sockets: whatever ends a connection, the next one of the model is clean."""
