"""Tables over many runs of the pipeline, each run a DVC experiment.

`python -m parallax.grid methods|ratios|seeds` runs what is missing and writes the table. No other
module runs DVC.
"""
