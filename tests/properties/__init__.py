"""The history is what the server has said: a model of the contract, played against the SDK."""
