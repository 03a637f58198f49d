"""Knowledge instances as token sequences, both modalities side by side."""

from collections.abc import Sequence
from dataclasses import dataclass

from parallax.errors import ModelError
from parallax.models.encoding import Encoder, Sample
from parallax.prompts import render_question
from parallax.records import Instance, Modality


@dataclass(frozen=True)
class Knowledge:
    """Encoded knowledge instances: row i of `image` and row i of `text` are the same fact.

    `image` is empty where the model takes text alone.
    """

    image: Sequence[Sample]
    text: Sequence[Sample]

    def __len__(self) -> int:
        return len(self.text)

    def side(self, modality: Modality) -> Sequence[Sample]:
        """Return one modality's samples."""
        return self.image if modality == "image" else self.text


def encode_knowledge(
    encoder: Encoder,
    instances: Sequence[Instance],
    text_with_portrait: bool = False,
    answers: Sequence[str] | None = None,
) -> Knowledge:
    """Encode instances with their answers, or with `answers` (one per instance) instead.

    `text_with_portrait` attaches the portrait to the text questions too (the LLaMA-Factory export
    of the official code).

    Raises:
        ModelError: portraits are to be attached, and the model takes text alone.
    """
    shows = "image" in encoder.modalities
    if text_with_portrait and not shows:
        raise ModelError("sft.text_path 'image': the model takes text alone; set it to text")
    shown = [encoder.rows[instance.person_id] if shows else None for instance in instances]
    image: Sequence[Sample] = ()
    if shows:
        image = encoder.encode(
            [render_question(i.image, i.task) for i in instances],
            [i.image.answer for i in instances] if answers is None else answers,
            shown,
        )
    text = encoder.encode(
        [render_question(i.text, i.task) for i in instances],
        [i.text.answer for i in instances] if answers is None else answers,
        shown if text_with_portrait else [None] * len(instances),
    )
    return Knowledge(image, text)
