"""What follows from a report: it is kept, recorded, and stops the pipeline if a check failed."""

import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from parallax.errors import DataError
from parallax.files import write_json
from parallax.validation.suite import Report, describe_failures


class Recorder(Protocol):
    """Where a stage's files and numbers are recorded."""

    def log_file(self, path: Path) -> None:
        """Keep a file."""

    def log_metrics(self, metrics: Mapping[str, float]) -> None:
        """Record numbers."""


def conclude_checks(report: Report, what: str, out: Path, recorder: Recorder) -> str:
    """Write and record the report; return how many checks passed.

    `what` names what was checked.

    Raises:
        DataError: a check failed or could not be evaluated; a line for each is on stderr.
    """
    write_json(out, report)
    recorder.log_file(out)
    checks = report["checks"]
    failed = [check["name"] for check in checks if check["outcome"] == "failed"]
    rows = sum(check["rows_checked"] for check in checks)
    recorder.log_metrics(
        {"checks": len(checks), "failed_checks": len(failed), "rows_checked": rows}
    )
    if failed:
        print(*describe_failures(report), sep="\n", file=sys.stderr)
        raise DataError(
            f"{len(failed)} of {len(checks)} checks of the {what} did not pass"
            f" ({', '.join(failed)}): mend the rows named above; {out} has all checks"
        )
    others = Counter(check["outcome"] for check in checks if check["outcome"] != "passed")
    told = "".join(f", {count} {outcome}" for outcome, count in sorted(others.items()))
    return f"{len(checks) - others.total()} checks of {rows} rows passed{told} -> {out}"
