"""MLflow: one run per pipeline execution, below it one run per stage.

Only this package imports mlflow, and only when a run starts.
"""

from parallax.tracking.execution import input_digests
from parallax.tracking.run import StageRun, stage_run
from parallax.tracking.values import flatten, numbers

__all__ = ["StageRun", "flatten", "input_digests", "numbers", "stage_run"]
