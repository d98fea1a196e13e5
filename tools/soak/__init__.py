"""A soak test: many conversations, one after another and at once, over real sockets.

``python -m tools.soak`` runs in an environment that holds a release of the SDK. The server is a
process of its own (``server.py``), so that its memory and its work do not count for the client.
Server and client know a conversation's course from its tag (``plan.py``).
"""
