"""The embedded model: a LLaVA small enough to be trained from scratch on a laptop.

A SigLIP vision tower, a linear-GELU-linear projector and a Llama language model, all built from
configurations with the classes that real checkpoints use, so that what works here works there.
"""

import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from parallax.params import Embedded
from parallax.prompts import render_question
from parallax.records import Instance

if TYPE_CHECKING:
    from transformers import LlavaForConditionalGeneration, LlavaProcessor

PAD, BOS, EOS, IMAGE = "<pad>", "<s>", "</s>", "<image>"
CONTEXT = 512


def channel_statistics(portraits: Iterable[bytes]) -> tuple[list[float], list[float]]:
    """Return each colour channel's mean and standard deviation over all pixels, in [0, 1].

    Drawn portraits are far from SigLIP's mean and deviation of .5: normalised by their own
    statistics they differ more from each other.
    """
    import numpy as np
    from PIL import Image

    count = 0
    total = np.zeros(3)
    squares = np.zeros(3)
    for portrait in portraits:
        image = np.asarray(Image.open(io.BytesIO(portrait)).convert("RGB")).reshape(-1, 3) / 255.0
        count += len(image)
        total += image.sum(0)
        squares += (image**2).sum(0)
    mean = total / count
    deviation = np.sqrt(np.maximum(squares / count - mean**2, 0.0))
    return mean.round(6).tolist(), deviation.round(6).tolist()


def vocabulary_texts(instances: Iterable[Instance]) -> list[str]:
    """Return every prompt and answer, from which the tokenizer learns its vocabulary."""
    texts = []
    for instance in instances:
        for question in (instance.image, instance.text):
            prompt = render_question(question, instance.task)
            texts.append(f"USER: {prompt}\nASSISTANT: {question.answer}")
    return texts


def build_processor(
    texts: Iterable[str], shape: Embedded, mean: Sequence[float], std: Sequence[float]
) -> "LlavaProcessor":
    """Train a byte-level BPE tokenizer on `texts` and pair it with an image processor."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import LlavaProcessor, PreTrainedTokenizerFast
    from transformers.models.siglip.image_processing_pil_siglip import SiglipImageProcessorPil

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=shape.vocabulary,
            special_tokens=[PAD, BOS, EOS, IMAGE],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BOS} $A", special_tokens=[(BOS, tokenizer.token_to_id(BOS))]
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        bos_token=BOS,
        eos_token=EOS,
        additional_special_tokens=[IMAGE],
        model_max_length=CONTEXT,
        padding_side="left",
    )
    images = SiglipImageProcessorPil(
        size={"height": shape.image_px, "width": shape.image_px},
        image_mean=list(mean),
        image_std=list(std),
    )
    return LlavaProcessor(
        image_processor=images,
        tokenizer=fast,
        patch_size=shape.patch_px,
        vision_feature_select_strategy="full",
        num_additional_image_tokens=0,
        image_token=IMAGE,
    )


def build_model(shape: Embedded, processor: "LlavaProcessor") -> "LlavaForConditionalGeneration":
    """Build the untrained model; weights are drawn from torch's global generator."""
    from transformers import (
        LlamaConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        SiglipVisionConfig,
    )

    tokenizer = processor.tokenizer
    vision = SiglipVisionConfig(
        hidden_size=shape.vision_width,
        intermediate_size=4 * shape.vision_width,
        num_hidden_layers=shape.vision_layers,
        num_attention_heads=shape.vision_heads,
        image_size=shape.image_px,
        patch_size=shape.patch_px,
        vision_use_head=False,
    )
    language = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=shape.width,
        intermediate_size=4 * shape.width,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.heads,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=True,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    config = LlavaConfig(
        vision_config=vision,
        text_config=language,
        image_token_index=tokenizer.convert_tokens_to_ids(IMAGE),
        vision_feature_select_strategy="full",
        vision_feature_layer=-1,
        image_seq_length=(shape.image_px // shape.patch_px) ** 2,
        tie_word_embeddings=True,
    )
    return LlavaForConditionalGeneration(config)
