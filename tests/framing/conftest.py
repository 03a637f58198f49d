"""A tiny subject and a slot."""

import pytest


@pytest.fixture(scope="session")
def tiny_subject(tiny_folder):
    from parallax.framing.subjects import load_subject

    return load_subject("tiny", tiny_folder, "chat")


@pytest.fixture(scope="session")
def spec():
    """A slot with one wording."""
    from parallax.framing.prompts import FrameSpec

    return FrameSpec(
        name="w",
        carrier="Note: this {clause}.\n\n{body}",
        position="before",
        role="user",
        body_ref="body",
        authority="user",
        instruction_source="user",
        slots=("clause",),
        clause={"E": "is e", "D": "is d", "N": "is n", "content_free": "is c"},
    )
