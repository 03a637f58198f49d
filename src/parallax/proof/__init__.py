"""Proof that the framing instrument finds what is there, and nothing else: simulated responders."""
