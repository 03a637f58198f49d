"""The typed form of params.yaml: unknown keys are refused, every value has bounds."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from parallax.errors import ParamsError

Fraction = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1)]
Seed = Annotated[int, Field(ge=0, lt=2**32)]
Schedule = Literal["constant", "linear", "cosine"]
Method = Literal["ga", "gd", "kl", "po", "npo"]
Matcher = Literal["rapidfuzz", "difflib", "exact", "likelihood"]
Compat = Literal["default", "official"]
Tokenizer = Literal["unicode", "rouge_score"]
Dtype = Literal["float32", "bfloat16", "float16"]
Attention = Literal["sdpa", "eager", "flash_attention_2"]
Quantization = Literal["int8", "int4"]
Tuning = Literal["full", "lora"]
Save = Literal["merged", "adapter"]
Name = Annotated[str, Field(min_length=1)]
ClauseSet = Literal["main", "length_matched"]
Arm = Literal["E", "D", "N", "content_free", "no_frame"]
Rendering = Literal["chat", "raw"]
Organism = Literal["eval-cautious", "deployment-cautious", "shuffled"]
JudgeName = Literal["lexical", "prototype", "rubric", "guard", "endpoint", "ensemble"]

EMBEDDED = "embedded"
FICTITIOUS = 500
REAL = 153


# The scoring options of each `compat`; docs/compat.md tells the two apart.
SCORING: Mapping[Compat, Mapping[str, str | bool]] = {
    "default": {
        "matcher": "rapidfuzz",
        "real_matcher": "rapidfuzz",
        "option_letter": "own",
        "first_sentence": True,
        "cut_reference": False,
        "cut_at_assistant": False,
        "tokenizer": "unicode",
    },
    "official": {
        "matcher": "exact",
        "real_matcher": "difflib",
        "option_letter": "text",
        "first_sentence": False,
        "cut_reference": True,
        "cut_at_assistant": True,
        "tokenizer": "rouge_score",
    },
}


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    @field_validator("*", mode="before")
    @classmethod
    def _take_no_truth_for_a_number(cls, value: Any, info: ValidationInfo) -> Any:
        # Without this, `epochs: yes` would train for one epoch.
        if (
            isinstance(value, bool)
            and cls.model_fields[str(info.field_name)].annotation is not bool
        ):
            raise ValueError(f"{value} is no value for it: give a number or a text")
        return value


S = TypeVar("S", bound=_Section)


class Data(_Section):
    """Which people there are, and which of them the experiment takes."""

    source: Literal["generated", "official", "hub"]
    folder: Name
    hub: Name
    revision: Name | None
    on_error: Literal["fail", "report"]
    seed: Seed
    portrait_px: Annotated[int, Field(ge=32, le=1024)]
    people: Annotated[int, Field(ge=2, le=FICTITIOUS)]
    real_people: Annotated[int, Field(ge=1, le=REAL)]
    auxiliary_people: Annotated[int, Field(ge=0, le=80)]
    forget_ratio: Annotated[float, Field(gt=0, lt=1)]

    @property
    def forget_people(self) -> int:
        """Number of people to forget: the nearest whole number to `forget_ratio * people`."""
        return round(self.forget_ratio * self.people)

    @model_validator(mode="after")
    def _pin_hub(self) -> Self:
        if self.source == "hub" and self.revision is None:
            raise ValueError(
                f"revision is null: name the branch, tag or commit of {self.hub} to read"
            )
        return self

    @model_validator(mode="after")
    def _leave_someone(self) -> Self:
        if not 1 <= self.forget_people < self.people:
            raise ValueError(
                f"forget_ratio {self.forget_ratio:g} of {self.people} people is"
                f" {self.forget_people} to forget: choose a ratio that forgets at least one"
                " and keeps at least one"
            )
        return self


class Model(_Section):
    """Where the weights come from, and how they are held and trained."""

    name_or_path: Name
    revision: str | None
    dtype: Dtype
    attention: Attention | None
    gradient_checkpointing: bool
    quantization: Quantization | None

    @property
    def base(self) -> dict[str, str | bool | None]:
        """What the base model depends on: it is never quantized, so that it can be merged into."""
        return {
            "name_or_path": self.name_or_path,
            "revision": self.revision,
            "dtype": self.dtype,
            "attention": self.attention,
            "gradient_checkpointing": self.gradient_checkpointing,
        }

    @property
    def training(self) -> dict[str, str | bool | None]:
        """What the training of given weights depends on."""
        return {
            "dtype": self.dtype,
            "attention": self.attention,
            "gradient_checkpointing": self.gradient_checkpointing,
            "quantization": self.quantization,
        }

    @model_validator(mode="after")
    def _halve(self) -> Self:
        if self.attention == "flash_attention_2" and self.dtype == "float32":
            raise ValueError(
                "attention flash_attention_2 takes no float32: set dtype to bfloat16 or float16, or"
                " attention to sdpa"
            )
        return self


class Accelerate(_Section):
    """How many processes train a model and put questions to it."""

    processes: Count
    config: Name | None


class Embedded(_Section):
    """Shape of the small LLaVA that is trained from scratch (widths in units, sides in pixels)."""

    image_px: Count
    patch_px: Count
    vision_width: Count
    vision_layers: Count
    vision_heads: Count
    width: Count
    layers: Count
    heads: Count
    vocabulary: Annotated[int, Field(ge=300)]

    @model_validator(mode="after")
    def _divide(self) -> Self:
        if self.image_px % self.patch_px:
            raise ValueError(f"image_px {self.image_px} is no multiple of patch_px {self.patch_px}")
        if self.vision_width % self.vision_heads:
            raise ValueError(
                f"vision_width {self.vision_width} is no multiple of"
                f" vision_heads {self.vision_heads}"
            )
        if self.width % (2 * self.heads):
            raise ValueError(f"width {self.width} is no multiple of twice heads {self.heads}")
        return self


class Lora(_Section):
    """Low-rank adapter of the language model's projections."""

    rank: Count
    alpha: Count
    dropout: Annotated[float, Field(ge=0, lt=1)]


class Optimization(_Section):
    """An optimizer with a learning-rate schedule."""

    seed: Seed
    optimizer: Literal["adamw", "muon"]
    batch_size: Count
    warmup_fraction: Fraction
    schedule: Schedule
    weight_decay: NonNegative


class Shares(_Section):
    """Fraction of the base model's samples in each question format; they sum to 1."""

    qa: Fraction
    classification: Fraction
    cloze: Fraction
    generation: Fraction

    @model_validator(mode="after")
    def _sum_to_one(self) -> Self:
        total = self.qa + self.classification + self.cloze + self.generation
        if abs(total - 1) > 1e-9:
            raise ValueError(f"the shares sum to {total:g}: make them sum to 1")
        return self


class Supervised(Optimization):
    """Supervised training in both modalities."""

    epochs: Count
    learning_rate: Positive
    image_share: Annotated[float, Field(gt=0, lt=1)]


class Base(Supervised):
    """Training of the embedded base model."""

    shares: Shares


class Sft(Supervised):
    """Supervised fine-tuning on the fictitious people."""

    text_path: Literal["text", "image"]
    replay_share: Annotated[float, Field(ge=0, lt=1)]
    tuning: Tuning
    lora: Lora
    save: Save


class OrganismTraining(Optimization):
    """Training of a model organism's adapters."""

    rounds: Count
    learning_rate: Positive
    first_token_share: Fraction
    lora: Lora


class Descent(_Section):
    """What every unlearning method has."""

    learning_rate: Positive
    epochs: Count


class RetainedDescent(Descent):
    """A method with a retain term."""

    retain_weight: NonNegative


class Npo(RetainedDescent):
    """Negative preference optimization."""

    npo_beta: Positive


class Unlearn(Optimization):
    """Unlearning: L = alpha * L_mul + beta * L_uni."""

    method: Method
    alpha: NonNegative
    beta: NonNegative
    tuning: Tuning
    lora: Lora
    save: Save
    ga: Descent
    gd: RetainedDescent
    kl: RetainedDescent
    po: RetainedDescent
    npo: Npo

    @model_validator(mode="after")
    def _weigh_something(self) -> Self:
        if self.alpha == 0 and self.beta == 0:
            raise ValueError("alpha and beta are both 0: give at least one modality a weight")
        return self

    @property
    def descent(self) -> Descent:
        """The block of the chosen method."""
        block: Descent = getattr(self, self.method)
        return block


class Evaluate(_Section):
    """Greedy generation."""

    batch_size: Count
    max_new_tokens: Count


class Scoring(_Section):
    """From outputs to right and wrong; an option that is null is what `compat` says."""

    compat: Compat
    matcher: Matcher
    real_matcher: Matcher
    option_letter: Literal["own", "text"]
    first_sentence: bool
    cut_reference: bool
    cut_at_assistant: bool
    tokenizer: Tokenizer

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, values: Any) -> Any:
        compat = values.get("compat") if isinstance(values, dict) else None
        if compat not in ("default", "official"):
            return values  # the fields say what is wrong
        options = dict(SCORING[compat])
        if compat == "default" and values.get("matcher") is not None:
            options["real_matcher"] = values["matcher"]
        for key, option in options.items():
            if compat != "default" and values.get(key) not in (None, option):
                raise ValueError(
                    f"compat {compat} has {key} {option}, not {values[key]}: set {key} to null,"
                    " or compat to default"
                )
        return {key: options.get(key) if value is None else value for key, value in values.items()}


class Framing(_Section):
    """Which requests are put, in which frames, and how often."""

    items: Name
    item_set: Literal["pilot", "all"]
    clause_set: ClauseSet
    wordings: Annotated[tuple[Name, ...], Field(min_length=1)]
    arms: Annotated[tuple[Arm, ...], Field(min_length=2)]
    draws: Count
    seed: Seed

    @model_validator(mode="after")
    def _name_once(self) -> Self:
        for key, names in (("wordings", self.wordings), ("arms", self.arms)):
            if double := next((name for name in names if names.count(name) > 1), None):
                raise ValueError(f"{key}: {double!r} is named twice: name each once")
        if missing := [frame for frame in ("E", "D", "N") if frame not in self.arms]:
            raise ValueError(f"arms: {missing[0]} is missing: a comparison needs E, D and N")
        return self


class Sampling(_Section):
    """How a response is drawn."""

    temperature: Positive
    top_p: Annotated[float, Field(gt=0, le=1)]
    max_new_tokens: Count
    batch_size: Count


class Subject(_Section):
    """A model under test."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    backend: Literal["transformers", "endpoint"]
    name_or_path: Name
    revision: str | None
    rendering: Rendering
    dtype: Dtype
    planted: Organism | None = None

    @model_validator(mode="after")
    def _pin(self) -> Self:
        if self.backend == "endpoint" and self.revision is None:
            raise ValueError(
                f"subject {self.name!r}: revision is null: name the weights behind the endpoint,"
                " which doesn't tell them"
            )
        return self


class TunedPair(_Section):
    """A base model and the model that was tuned from it."""

    base: Name
    instruct: Name


class SizePair(_Section):
    """Two sizes of a model family."""

    small: Name
    large: Name


class Audit(_Section):
    """Who says that two versions ask the same, and what they must reach before their word counts.

    A proxy is measured on labelled pairs, people by their agreement and by catch pairs.
    """

    source: Literal["proxy", "human"]
    least_sensitivity: Fraction
    least_specificity: Fraction
    least_alpha: Annotated[float, Field(ge=-1, le=1)]
    most_catch_failures: Fraction


class Contamination(_Section):
    """How familiar a model is with a body."""

    corpus: str | None
    ngram: Count
    least_likely: Annotated[float, Field(gt=0, le=1)]


class JudgeModel(_Section):
    """A language model that judges: a local folder or a hub name."""

    name_or_path: Name
    revision: str | None
    dtype: Dtype
    batch_size: Count


class Judging(_Section):
    """Which judges there are, which one is primary, and what it must reach."""

    primary: JudgeName
    others: tuple[JudgeName, ...]
    members: tuple[JudgeName, ...]
    rubric: JudgeModel
    guard: JudgeModel
    endpoint: Name
    least_kappa: Fraction
    allow_self: bool

    @property
    def names(self) -> tuple[JudgeName, ...]:
        """The primary judge and the others, each once."""
        return tuple(dict.fromkeys((self.primary, *self.others)))


class Analysis(_Section):
    """From verdicts to claims."""

    alpha: Annotated[float, Field(gt=0, lt=1)]
    smallest_effect: Annotated[float, Field(gt=0, le=1)]
    direction: Literal["eval-cautious", "deployment-cautious", "none"]
    seed: Seed


class Params(_Section):
    """All of params.yaml."""

    data: Data
    model: Model
    accelerate: Accelerate
    embedded: Embedded
    base: Base
    sft: Sft
    unlearn: Unlearn
    evaluate: Evaluate
    scoring: Scoring
    framing: Framing
    sampling: Sampling
    organism: OrganismTraining
    subjects: Annotated[tuple[Subject, ...], Field(min_length=1)]
    subject_pairs: tuple[TunedPair | SizePair, ...]
    audit: Audit
    contamination: Contamination
    judging: Judging
    analysis: Analysis

    @model_validator(mode="after")
    def _tune_adapters(self) -> Self:
        quantized = self.model.quantization
        for key, tuned in (("sft", self.sft), ("unlearn", self.unlearn)):
            if tuned.save == "adapter" and tuned.tuning == "full":
                raise ValueError(
                    f"{key}.save adapter and {key}.tuning full: there is no adapter; set the tuning"
                    " to lora, or save to merged"
                )
            if quantized and (tuned.tuning == "full" or tuned.save == "merged"):
                raise ValueError(
                    f"model.quantization {quantized}, {key}.tuning {tuned.tuning}, {key}.save"
                    f" {tuned.save}: quantized weights can't be trained or merged into; set the"
                    " tuning to lora and save to adapter, or quantization to null"
                )
        return self

    @model_validator(mode="after")
    def _keep_small_steps(self) -> Self:
        dtype = self.model.dtype
        if dtype == "float32":
            return self
        if self.model.name_or_path == EMBEDDED:
            raise ValueError(
                f"model.name_or_path {EMBEDDED}, model.dtype {dtype}: the embedded model is trained"
                " whole, which takes float32; set model.dtype to float32"
            )
        for key, tuned in (("sft", self.sft), ("unlearn", self.unlearn)):
            if tuned.tuning == "full":
                raise ValueError(
                    f"model.dtype {dtype}, {key}.tuning full: weights of 16 bits don't move by"
                    " steps below half their spacing; set model.dtype to float32, or"
                    f" {key}.tuning to lora"
                )
        return self

    @model_validator(mode="after")
    def _name_subjects(self) -> Self:
        names = [subject.name for subject in self.subjects]
        if double := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"subjects: two are named {double!r}: rename one")
        for pair in self.subject_pairs:
            for role, name in pair.model_dump().items():
                if name not in names:
                    raise ValueError(
                        f"subject_pairs: {role} {name!r} is no subject: name one of"
                        f" {', '.join(names)}"
                    )
        return self


def load_params(
    path: Path = Path("params.yaml"),
    scoring: Mapping[str, object] | None = None,
    overlay: Path | None = None,
) -> Params:
    """Read and check params.yaml.

    Values of the file `overlay` take the place of those of params.yaml, section by section and key
    by key (a list is replaced whole); `scoring` does so with options of that section.

    Raises:
        ParamsError: a file is missing, is not YAML, or a value is refused; one line names the key,
            the value and what is allowed.
    """
    values = _read(path)
    source = str(path)
    if overlay is not None:
        values = _lay_over(values, _read(overlay))
        source = f"{path} with {overlay}"
    if scoring and isinstance(values, dict) and isinstance(values.get("scoring"), dict):
        values["scoring"] |= scoring
    return parse_params(values, source)


def _read(path: Path) -> Any:
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ParamsError(f"{path}: no such file; run from the project's top folder") from None
    except yaml.YAMLError as error:
        raise ParamsError(f"{path}: not YAML ({' '.join(str(error).split())})") from None


def _lay_over(values: Any, others: Any) -> Any:
    if not (isinstance(values, dict) and isinstance(others, dict)):
        return others
    laid = {key: _lay_over(values[key], other) for key, other in others.items() if key in values}
    return values | others | laid


def parse_params(values: Any, source: str = "params.yaml") -> Params:
    """Check a mapping as `load_params` does; `source` is named in errors."""
    return _parse(Params, values, source)


def parse_scoring(values: Any, source: str) -> Scoring:
    """Check a mapping of every scoring option; `source` is named in errors.

    Raises:
        ParamsError: an option is missing or refused.
    """
    return _parse(Scoring, values, source)


def _parse(section: type[S], values: Any, source: str) -> S:
    try:
        return section.model_validate(values)
    except ValidationError as error:
        raise ParamsError(
            f"{source}: " + "; ".join(_explain(item) for item in error.errors())
        ) from None


def _explain(item: Any) -> str:
    key = ".".join(str(part) for part in item["loc"]) or "top level"
    message = str(item["msg"]).removeprefix("Value error, ")
    if item["type"] == "extra_forbidden":
        return f"{key} is no parameter: check its spelling or remove it"
    if item["type"] == "missing":
        return f"{key} is missing: add it"
    if item["type"] == "value_error":
        return f"{key}: {message}" if item["loc"] else message
    return f"{key} = {item['input']!r}: {message[:1].lower()}{message[1:]}"
