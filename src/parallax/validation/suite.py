"""Running named checks over data frames with great-expectations, and one report of the results."""

import dataclasses
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NotRequired, TypedDict, TypeVar

import great_expectations as gx
from great_expectations.core.batch_definition import BatchDefinition
from great_expectations.core.metric_domain_types import MetricDomainTypes
from great_expectations.data_context.types.base import ProgressBarsConfig
from great_expectations.execution_engine import PandasExecutionEngine
from great_expectations.expectations.expectation import BatchExpectation, Expectation
from great_expectations.expectations.metrics.metric_provider import metric_value
from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider

from parallax.errors import DataError
from parallax.validation.findings import FINDERS, Findings

if TYPE_CHECKING:
    import pandas as pd

# Offending rows that the report lists for one check; the count is always of all of them.
LISTED = 20
# Every frame labels its rows in this column, e.g. "forget_5/123/occupation".
LABEL = "row"

T = TypeVar("T")
FrameBuilder = Callable[[], "pd.DataFrame"]
Outcome = Literal["passed", "failed", "noted", "skipped"]


@dataclasses.dataclass(frozen=True)
class Check:
    """One expectation about one frame, under a name and a description in plain words.

    `skipped` says why the check is not evaluated, `noted` why its failing stops nothing.
    """

    name: str
    description: str
    frame: str
    expectation: Expectation
    skipped: str = ""
    noted: str = ""


class CheckResult(TypedDict):
    """One check in the report; `error` tells why a check could not be evaluated.

    An outcome of "noted" is a failure that stops nothing; `reason` says why a check is skipped or
    may be noted.
    """

    name: str
    description: str
    success: bool
    outcome: Outcome
    reason: str
    rows_checked: int
    unexpected_count: int
    unexpected: list[str]
    error: str | None


class Report(TypedDict):
    """The whole report, in the order of the checks; `origin` tells where the data come from."""

    success: bool
    checks: list[CheckResult]
    origin: NotRequired[dict[str, Any]]


# great-expectations ships no types: mypy cannot see its base classes and decorators, here and
# in ExpectNoFindings.
class FindingsMetric(TableMetricProvider):  # type: ignore[misc]
    """Metric `parallax.findings`: the Findings of the finder of that name on a whole batch."""

    metric_name = "parallax.findings"
    value_keys = ("finder",)

    @metric_value(engine=PandasExecutionEngine)  # type: ignore[untyped-decorator]
    def _pandas(
        cls,  # noqa: N805 - great-expectations calls it on the class
        execution_engine: PandasExecutionEngine,
        metric_domain_kwargs: dict[str, Any],
        metric_value_kwargs: dict[str, Any],
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any],
    ) -> Findings:
        frame, _, _ = execution_engine.get_compute_domain(
            metric_domain_kwargs, domain_type=MetricDomainTypes.TABLE
        )
        return FINDERS[metric_value_kwargs["finder"]](frame)


class ExpectNoFindings(BatchExpectation):  # type: ignore[misc]
    """Expect the finder registered as `finder` to look at some rows and to find none at fault."""

    finder: str

    metric_dependencies: ClassVar[tuple[str, ...]] = ("parallax.findings",)
    success_keys: ClassVar[tuple[str, ...]] = ("finder",)

    def _validate(
        self,
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any] | None = None,
        execution_engine: PandasExecutionEngine | None = None,
    ) -> dict[str, Any]:
        findings: Findings = metrics["parallax.findings"]
        return {
            "success": not findings.rows,
            "result": {"element_count": findings.checked, "findings": findings.rows},
        }


def run_checks(checks: Sequence[Check], builders: Mapping[str, FrameBuilder]) -> Report:
    """Evaluate every check on its frame, frame by frame in one batch each.

    A frame that its builder refuses (DataError), a missing column or any other exception inside
    an expectation becomes the `error` of the checks concerned: they did not pass, but no row of
    theirs is called unexpected. A check that had no row to look at is an error too. A skipped
    check needs no frame.

    Raises:
        ValueError: two checks have one name.
    """
    names = [check.name for check in checks]
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"check {', '.join(doubled)} is declared twice: give each its own name")
    frames = _define_batches()
    results = {check.name: _result(check, "skipped") for check in checks if check.skipped}
    wanted = [check for check in checks if not check.skipped]
    for frame_name in dict.fromkeys(check.frame for check in wanted):
        group = [check for check in wanted if check.frame == frame_name]
        try:
            frame = builders[frame_name]()
        except DataError as error:
            results |= {check.name: _failed(check, str(error)) for check in group}
        else:
            results |= _validate_frame(frames, frame, group)
    ordered = [results[name] for name in names]
    failed = any(result["outcome"] == "failed" for result in ordered)
    return {"success": not failed, "checks": ordered}


def once(build: Callable[[], T]) -> Callable[[], T]:
    """Return a function that calls `build` once, and then repeats its value or its DataError."""
    values: list[T] = []
    errors: list[DataError] = []

    def repeat() -> T:
        if errors:
            raise errors[0]
        if not values:
            try:
                values.append(build())
            except DataError as error:
                errors.append(error)
                raise
        return values[0]

    return repeat


def describe_failures(report: Report) -> list[str]:
    """Return a line per failed check that names it and its rows.

    Checks that one and the same error kept from being evaluated share a line.
    """
    lines = []
    stopped: dict[str, list[str]] = {}
    for result in report["checks"]:
        if result["error"] is not None:
            stopped.setdefault(result["error"], []).append(result["name"])
        elif result["outcome"] == "failed":
            rest = result["unexpected_count"] - len(result["unexpected"])
            more = f"; and {rest} more" if rest > 0 else ""
            lines.append(f"{result['name']}: {'; '.join(result['unexpected'])}{more}")
    return lines + [
        f"{', '.join(names)}: not evaluated, {error}" for error, names in stopped.items()
    ]


def _define_batches() -> BatchDefinition:
    """Return a definition that makes a batch of any frame; nothing is stored, sent or drawn."""
    # This module logs at INFO whatever the caller wants; it tells of a folder already removed.
    logging.getLogger("great_expectations.data_context.types.base").setLevel(logging.WARNING)
    context = gx.get_context(mode="ephemeral")
    context.enable_analytics(False)
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    asset = context.data_sources.add_pandas("memory").add_dataframe_asset("frames")
    return asset.add_batch_definition_whole_dataframe("frame")


def _validate_frame(
    frames: BatchDefinition, frame: "pd.DataFrame", checks: Sequence[Check]
) -> dict[str, CheckResult]:
    batch = frames.get_batch({"dataframe": frame})
    # The name in `meta` finds a result's check again: results come back in another order.
    expectations = [
        check.expectation.copy(update={"meta": {"check": check.name}}) for check in checks
    ]
    outcome = batch.validate(
        gx.ExpectationSuite(name=checks[0].frame, expectations=expectations),
        result_format={"result_format": "COMPLETE", "unexpected_index_column_names": [LABEL]},
    )
    by_name = {check.name: check for check in checks}
    read = {}
    for result in outcome.results:
        check = by_name[result.expectation_config.meta["check"]]
        read[check.name] = _read_result(check, result, len(frame))
    return read


def _read_result(check: Check, result: Any, frame_rows: int) -> CheckResult:
    error = _exception_message(result.exception_info)
    if error is not None:
        return _failed(check, error)
    values = result.result
    checked = int(values.get("element_count", frame_rows))
    if checked == 0:
        return _failed(check, "there is no row to check")
    if result.success:
        return _result(check, "passed", checked)
    return _result(check, "noted" if check.noted else "failed", checked, _offenders(check, values))


def _offenders(check: Check, values: Mapping[str, Any]) -> list[str]:
    """List the offending rows of an expectation: our own, a column's or pair's, or a total's."""
    if "findings" in values:
        return list(values["findings"])
    if "unexpected_index_list" in values:
        return [_label(entry) for entry in values["unexpected_index_list"]]
    kwargs = check.expectation.configuration.kwargs
    bounds = ", ".join(f"{key} {kwargs[key]}" for key in sorted(kwargs) if key.endswith("value"))
    return [f"{kwargs.get('column', check.frame)}: {values['observed_value']} ({bounds})"]


def _label(entry: Mapping[str, Any]) -> str:
    seen = ", ".join(f"{column} {value}" for column, value in entry.items() if column != LABEL)
    return f"{entry[LABEL]}: {seen}"


def _exception_message(info: Mapping[str, Any]) -> str | None:
    """Return the message of the first exception, or None; GX nests them by metric where it can."""
    nested = [entry for entry in info.values() if isinstance(entry, Mapping)] or [info]
    raised = [entry for entry in nested if entry.get("raised_exception")]
    return " ".join(str(raised[0]["exception_message"]).split()) if raised else None


def _failed(check: Check, error: str) -> CheckResult:
    return {**_result(check, "failed"), "error": error}


def _result(
    check: Check, outcome: Outcome, checked: int = 0, offenders: Sequence[str] = ()
) -> CheckResult:
    return {
        "name": check.name,
        "description": check.description,
        "success": outcome == "passed",
        "outcome": outcome,
        "reason": check.skipped or check.noted,
        "rows_checked": checked,
        "unexpected_count": len(offenders),
        "unexpected": list(offenders[:LISTED]),
        "error": None,
    }
