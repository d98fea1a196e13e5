"""What an event costs: bare, shimmed and patched, in alternation in one run."""
