"""A small experiment, and folders that hold a model's configuration and processor alone."""

import shutil
from pathlib import Path

import pandas as pd
import pytest

from parallax.files import write_json, write_table

TOP = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def experiment(tmp_path_factory, instances_of, portrait_files):
    """People 1 and 2 are to be forgotten, 3 and 4 kept; 5 is real, 6 auxiliary."""
    from parallax.instances import to_table

    folder = tmp_path_factory.mktemp("experiment")
    write_table(folder / "base.parquet", to_table(instances_of([4, 5], "qa")))
    facts = to_table(instances_of(range(4), "qa"))
    write_table(folder / "sft.parquet", facts.assign(refusal="I cannot say."))
    people = [str(n) for n in range(1, 7)]
    portraits = pd.DataFrame({"person_id": people, "portrait": portrait_files})
    write_table(folder / "portraits.parquet", portraits)
    splits = {"forget": ["1", "2"], "retain": ["3", "4"], "real": ["5"], "auxiliary": ["6"]}
    write_json(folder / "splits.json", splits)
    return folder


@pytest.fixture(scope="session")
def stand_in(tmp_path_factory, world_of):
    """`stand_in(model_type)`: a tiny checkpoint of this type without its weights."""

    def write(model_type):
        folder = tmp_path_factory.mktemp(model_type)
        world = world_of(model_type)
        world.config.save_pretrained(folder)
        world.processor.save_pretrained(folder)
        return folder

    return write


@pytest.fixture(scope="session")
def llava_7b():
    """The configuration of LLaVA-1.5-7B: CLIP ViT-L/14 for 336 pixels, and Vicuna-7B."""
    from transformers import CLIPVisionConfig, LlamaConfig, LlavaConfig

    return LlavaConfig(
        vision_config=CLIPVisionConfig(
            hidden_size=1024,
            intermediate_size=4096,
            num_hidden_layers=24,
            num_attention_heads=16,
            image_size=336,
            patch_size=14,
        ),
        text_config=LlamaConfig(
            vocab_size=32064,
            hidden_size=4096,
            intermediate_size=11008,
            num_hidden_layers=32,
            num_attention_heads=32,
            max_position_embeddings=4096,
        ),
        image_token_index=3,  # as in the tiny tokenizer
        vision_feature_layer=-2,
        vision_feature_select_strategy="default",
    )


@pytest.fixture(scope="session")
def llava_7b_folder(tmp_path_factory, llava_7b, tiny_models, instances_of):
    """LLaVA-1.5-7B without weights: its own image processor, and a tiny tokenizer."""
    from parallax.models.embedded import vocabulary_texts

    folder = tmp_path_factory.mktemp("llava_7b")
    _, processor = tiny_models.llava(vocabulary_texts(instances_of(range(4), "qa")))
    images = processor.image_processor
    images.size, images.crop_size = {"shortest_edge": 336}, {"height": 336, "width": 336}
    processor.patch_size = 14
    assert processor.image_token_id == llava_7b.image_token_id
    llava_7b.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty folder as the current one, with the shipped parameters."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(TOP / "params.yaml", "params.yaml")
    return tmp_path
