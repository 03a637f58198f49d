"""Sections of params.yaml for known experiments; `python -m parallax.presets NAME` writes one."""
