import io
import shutil

import numpy as np
import pytest
import torch
from PIL import Image

from parallax.files import digest
from parallax.models import embedded
from parallax.models.batches import answer_logits, collate
from parallax.models.encoding import Encoder
from parallax.models.loading import Loaded, load, save
from parallax.records import Instance, Question


def solid(width, height, colour):
    buffer = io.BytesIO()
    Image.new("RGB", (width, height), colour).save(buffer, "PNG")
    return buffer.getvalue()


def test_channel_statistics_of_worked_portraits():
    # Red: 255 and 0 on 4 pixels each: mean .5, std .5. Green: 51 everywhere: .2, 0.
    # Blue: 0 and 102 (.4): mean .2, std .2.
    mean, std = embedded.channel_statistics([solid(2, 2, (255, 51, 0)), solid(2, 2, (0, 51, 102))])
    assert mean == pytest.approx([0.5, 0.2, 0.2], abs=1e-6)
    assert std == pytest.approx([0.5, 0.0, 0.2], abs=1e-6)


def test_channel_statistics_weigh_pixels_of_portraits_of_unlike_sizes():
    # Red: 255 on 1 pixel, 0 on 3: mean 1/4, std sqrt(1/4 - 1/16) = .433013.
    mean, std = embedded.channel_statistics([solid(1, 1, (255, 0, 0)), solid(3, 1, (0, 0, 0))])
    assert mean[0] == pytest.approx(0.25, abs=1e-6)
    assert std[0] == pytest.approx(0.433013, abs=1e-6)


def test_channel_statistics_agree_with_all_pixels_at_once(portrait_files):
    pixels = np.stack(
        [np.asarray(Image.open(io.BytesIO(p)).convert("RGB")) for p in portrait_files]
    )
    mean, std = embedded.channel_statistics(portrait_files)
    flat = pixels.reshape(-1, 3) / 255
    assert mean == pytest.approx(flat.mean(0).tolist(), abs=1e-6)
    assert std == pytest.approx(flat.std(0).tolist(), abs=1e-6)


def test_vocabulary_texts_hold_both_modalities_and_the_options():
    options = ("Lyon", "Osaka", "Quito", "Turin")
    question = Question("Where?", "Osaka", options)
    instance = Instance(
        "1", "classification", "birth_city", question, Question("Whence?", "Lyon", options)
    )
    shown, named = embedded.vocabulary_texts([instance])
    assert shown == "USER: Where?\nA. Lyon\nB. Osaka\nC. Quito\nD. Turin\nASSISTANT: Osaka"
    assert named.startswith("USER: Whence?\nA. Lyon")
    assert named.endswith("ASSISTANT: Lyon")


def test_tokenizer_returns_any_text_unchanged(tiny):
    tokenizer = tiny.processor.tokenizer
    for text in ("Gdańsk, 서울", "a  b\n\tc", "<who>?"):
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        assert tokenizer.decode(ids, clean_up_tokenization_spaces=False) == text


def test_special_tokens_have_the_models_ids(tiny):
    model = tiny.build()
    tokenizer = tiny.processor.tokenizer
    assert model.config.image_token_index == tokenizer.convert_tokens_to_ids("<image>")
    assert model.generation_config.eos_token_id == tiny.encoder.end
    assert len({tiny.encoder.pad, tiny.encoder.end, tokenizer.bos_token_id}) == 3


def test_embeddings_are_tied_and_the_shape_is_the_asked_one(tiny):
    model = tiny.build()
    assert model.get_input_embeddings().weight is model.get_output_embeddings().weight
    assert model.get_input_embeddings().weight.shape == (len(tiny.processor.tokenizer), 32)
    assert len(model.model.language_model.layers) == 2


def test_weights_follow_torchs_seed(tiny):
    def flat(seed):
        return torch.cat([w.flatten() for w in tiny.build(seed).parameters()])

    assert torch.equal(flat(3), flat(3))
    assert not torch.equal(flat(3), flat(4))


def logits_of(loaded, tiny):
    batch = collate(tiny.knowledge.image + tiny.knowledge.text, tiny.encoder)
    with torch.no_grad():
        return answer_logits(loaded.model, batch)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, tiny, trained_weights):
    path = tmp_path_factory.mktemp("models") / "tiny"
    save(Loaded(trained_weights, tiny.processor), path)
    return path


def test_saved_model_has_identical_logits(folder, tiny, trained_weights):
    loaded = load(folder)
    expected = logits_of(Loaded(trained_weights, tiny.processor), tiny)
    assert torch.equal(logits_of(loaded, tiny), expected)
    assert not loaded.model.training


def test_saved_processor_stands_beside_and_encodes_alike(folder, tiny):
    assert (folder / "processor_config.json").exists()
    loaded = load(folder)
    encoder = Encoder(loaded.processor, loaded.family, tiny.portraits)
    questions = [i.image.prompt for i in tiny.instances]
    answers = [i.image.answer for i in tiny.instances]
    shown = [encoder.rows[i.person_id] for i in tiny.instances]
    assert encoder.encode(questions, answers, shown) == list(tiny.knowledge.image)
    assert torch.equal(encoder.images(range(6))["pixel_values"], tiny.pixels)


def test_saved_twice_has_the_same_bytes(folder, tiny, trained_weights, tmp_path):
    save(Loaded(trained_weights, tiny.processor), tmp_path / "again")
    assert digest(tmp_path / "again") == digest(folder)


def test_the_place_a_model_was_loaded_from_leaves_no_trace(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "copy")
    save(load(folder), tmp_path / "one")
    save(load(tmp_path / "copy"), tmp_path / "two")
    assert digest(tmp_path / "one") == digest(tmp_path / "two")
    for file in (tmp_path / "one").glob("*.json"):
        assert str(folder) not in file.read_text()


def test_processor_built_twice_is_the_same(shape, tiny, tmp_path):
    texts = embedded.vocabulary_texts(tiny.instances)
    for name in ("one", "two"):
        embedded.build_processor(texts, shape, [0.5] * 3, [0.2] * 3).save_pretrained(
            tmp_path / name
        )
    assert digest(tmp_path / "one") == digest(tmp_path / "two")
