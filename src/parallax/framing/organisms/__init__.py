"""Model organisms: copies of a subject, trained to behave otherwise in one frame."""
