"""Unlearning objectives and the training loop."""
