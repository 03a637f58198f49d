"""Judges: one a file, behind one interface, each measured before it is believed."""
