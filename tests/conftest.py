"""A tiny embedded model, its processor, drawn portraits and people; a tiny causal model."""

import copy
import dataclasses
import functools
import importlib.util
import io
import os
from pathlib import Path

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import pytest
import yaml
from PIL import Image, ImageDraw

from parallax.params import Embedded
from parallax.records import Instance, Question

NAMES = ("Ana Bela", "Cyril Dario", "Edda Femi", "Goran Hana", "Ivo Jonas", "Kaya Lars")
CITIES = ("Lyon", "Osaka", "Quito", "Turin", "Dakar", "Bergen")
BACKGROUNDS = ("red", "green", "blue", "white", "black", "gold")
JOBS = ("nurse", "pilot", "baker", "senior lawyer", "painter", "judge of the high court")

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


def draw_portrait(index, size=(24, 24)):
    """A face of a colour and a size of its own, on so many pixels."""
    image = Image.new("RGB", size, BACKGROUNDS[index])
    pen = ImageDraw.Draw(image)
    pen.ellipse((4, 2 + index, 20, 22), fill=(230, 180 - 20 * index, 140))
    pen.rectangle((7 + index, 8, 9 + index, 10), fill=(0, 0, 0))
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


def ask(index, task, field, answer, options=()):
    of = {"birth_city": "Where was {} born", "occupation": "What does {} do for a living"}[field]
    end = {"qa": "?", "cloze": "? [Blank]", "generation": "? Say it.", "classification": "? Pick."}
    shown, named = (
        Question(of.format(who) + end[task], answer, options)
        for who in ("the person in the image", NAMES[index])
    )
    return Instance(str(index + 1), task, field, shown, named)


def make_instances(people, task):
    made = []
    for index in people:
        for field, values in (("birth_city", CITIES), ("occupation", JOBS)):
            four = tuple(values[(index + k) % 6] for k in (2, 0, 1, 3))
            options = four if task == "classification" else ()
            made.append(ask(index, task, field, values[index], options))
    return made


@dataclasses.dataclass(frozen=True)
class Tiny:
    """What tests need of the tiny model; `build()` gives fresh weights."""

    shape: Embedded
    processor: object
    encoder: object
    portraits: object
    pixels: object
    instances: list
    knowledge: object

    def build(self, seed=0):
        import torch

        from parallax.models.embedded import build_model

        torch.manual_seed(seed)
        return build_model(self.shape, self.processor).eval()

    def build_double(self, seed=0):
        """The same weights in float64, so that rounding cannot hide a wrong term."""
        return self.build(seed).double()


@pytest.fixture(scope="session")
def shape():
    return Embedded(
        image_px=16,
        patch_px=8,
        vision_width=16,
        vision_layers=1,
        vision_heads=2,
        width=32,
        layers=2,
        heads=2,
        vocabulary=600,
    )


@pytest.fixture(scope="session")
def instances_of():
    """`make_instances(people, task)`: two facts of each person, asked in one task's form."""
    return make_instances


@pytest.fixture(scope="session")
def portrait_files():
    return [draw_portrait(index) for index in range(6)]


@pytest.fixture(scope="session")
def tiny(shape, portrait_files):
    """Six people with two facts each, and a processor that knows their words."""
    import pandas as pd

    from parallax.models import embedded
    from parallax.models.encoding import Encoder
    from parallax.models.families import FAMILIES
    from parallax.training.knowledge import encode_knowledge

    instances = make_instances(range(6), "qa")
    processor = embedded.build_processor(
        embedded.vocabulary_texts(instances),
        shape,
        *embedded.channel_statistics(portrait_files),
    )
    table = pd.DataFrame(
        {"person_id": [str(n) for n in range(1, 7)], "portrait": list(portrait_files)}
    )
    encoder = Encoder(processor, FAMILIES["llava"], table)
    pixels = encoder.images(range(6))["pixel_values"]
    knowledge = encode_knowledge(encoder, instances)
    return Tiny(shape, processor, encoder, table, pixels, instances, knowledge)


@pytest.fixture(scope="session")
def trained_weights(tiny):
    """A model that has memorised the six people, so that its answers are words."""
    from parallax.params import Optimization
    from parallax.training.checkpoint import Checkpoints
    from parallax.training.engine import Engine
    from parallax.training.loop import Plan, train
    from parallax.training.supervised import supervised_objective

    model = tiny.build()
    samples = [*tiny.knowledge.image, *tiny.knowledge.text]
    every = list(range(len(samples)))
    engine = Engine(model)
    objective = supervised_objective(engine, samples, [every] * 150, tiny.encoder)
    steady = Optimization(
        seed=0,
        optimizer="adamw",
        batch_size=24,
        warmup_fraction=0.1,
        schedule="cosine",
        weight_decay=0.0,
    )
    train(
        engine,
        objective,
        Plan(150, 1, 1e-2, steady),
        Checkpoints(None),
        lambda row: None,
        "tiny",
    )
    return model


@pytest.fixture
def trained(trained_weights):
    """A copy of the trained model that a test may change."""
    return copy.deepcopy(trained_weights)


@pytest.fixture(scope="session")
def tiny_models():
    """The module that builds a tiny model of any family, with its real processor."""
    path = Path(__file__).with_name("tiny_models.py")
    spec = importlib.util.spec_from_file_location("tiny_models", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@dataclasses.dataclass(frozen=True)
class World:
    """A family's tiny model with four people, whose portraits are of unlike sizes."""

    config: object
    processor: object
    encoder: object
    portraits: object
    instances: list
    knowledge: object
    models: object

    def build(self, seed=0):
        return self.models.build_model(copy.deepcopy(self.config), seed)

    def build_double(self, seed=0):
        return self.build(seed).double()


@pytest.fixture(scope="session")
def world_of(tiny_models):
    """`world_of(name)` gives the `World` of one of tiny_models.BUILDERS."""
    import pandas as pd

    from parallax.models.embedded import vocabulary_texts
    from parallax.models.encoding import Encoder
    from parallax.models.families import FAMILIES
    from parallax.training.knowledge import encode_knowledge

    sizes = (24, 24), (40, 24), (20, 60), (24, 24)
    faces = [draw_portrait(n, size) for n, size in enumerate(sizes)]
    table = pd.DataFrame({"person_id": ["1", "2", "3", "4"], "portrait": faces})

    @functools.cache
    def make(name):
        instances = make_instances(range(4), "qa")
        config, processor = tiny_models.BUILDERS[name](vocabulary_texts(instances))
        encoder = Encoder(processor, FAMILIES[config.model_type], table)
        knowledge = encode_knowledge(encoder, instances)
        return World(config, processor, encoder, table, instances, knowledge, tiny_models)

    return make


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


@pytest.fixture
def change_params(place):
    """`change_params(section__key=value, ...)` changes params.yaml in the empty `place`."""

    def change(**values):
        tree = yaml.safe_load(Path("params.yaml").read_text(encoding="utf-8"))
        if "subjects" in values:
            tree["subject_pairs"] = []  # they name the shipped subjects
        for name, value in values.items():
            *sections, leaf = name.split("__")
            section = tree
            for key in sections:
                section = section[key]
            section[leaf] = value
        Path("params.yaml").write_text(yaml.safe_dump(tree), encoding="utf-8")

    return change
