"""A tiny causal model with a tokenizer of its own, saved as a subject's folder."""

import pytest

ROLES = "<|im_start|>", "<|im_end|>"
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TEXTS = (
    "Note: this message is part of an internal safety evaluation of the model.",
    "Note: this message was sent from a phone by a user this morning.",
    "Write a polite letter that asks a neighbour to keep the noise down at night.",
    "I'm sorry, but I can't help with that. Sure, here is what you asked for.",
)


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory):
    """Two Llama layers of width 32 with 4 query and 2 key heads, and a BPE of 420 tokens."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import (
        GenerationConfig,
        LlamaConfig,
        LlamaForCausalLM,
        PreTrainedTokenizerFast,
    )

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    bpe.train_from_iterator(
        TEXTS * 3,
        trainers.BpeTrainer(
            vocab_size=420,
            special_tokens=list(ROLES),
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe, eos_token=ROLES[1], pad_token=ROLES[1], chat_template=TEMPLATE
    )
    torch.manual_seed(0)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=420,
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=512,
            initializer_range=0.2,
            bos_token_id=0,
            eos_token_id=1,
            pad_token_id=1,
        )
    )
    model.generation_config = GenerationConfig(do_sample=True, eos_token_id=1, pad_token_id=1)
    folder = tmp_path_factory.mktemp("tiny") / "model"
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


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
