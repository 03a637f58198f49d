"""How large an experiment has to be: from a pilot's verdicts to effects that a design can detect.

`python -m parallax.plan`
"""
