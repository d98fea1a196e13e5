"""Maintenance tools of the project, started by the sessions of ``noxfile.py``."""
