"""The command: on every preset, with a tiny model of the preset's real class in its place."""

import re
import runpy
import sys

import pytest

from parallax.dry_run.__main__ import main
from parallax.errors import DataError, ModelError, ResourceError
from parallax.models.loading import Loaded
from parallax.models.tuning import open_weights
from parallax.params import load_params
from parallax.presets.__main__ import main as write_preset

MODELS = {"llava-1.5-7b": "llava", "qwen2-vl-2b": "qwen2_vl", "smolvlm": "idefics3"}


@pytest.fixture
def run(experiment, capsys):
    """`run(*arguments)` gives what the command prints and how it ends."""

    def call(*arguments):
        summary = main(["--experiment", str(experiment), *arguments])
        return capsys.readouterr().out, summary

    return call


@pytest.mark.parametrize("preset", MODELS)
def test_a_preset_is_dry_run(place, change_params, run, stand_in, world_of, preset):
    write_preset([preset])
    change_params(model__name_or_path=str(stand_in(MODELS[preset])))
    printed, summary = run("--device", "cuda", "--memory", "24")
    assert summary == "sft and unlearn fit"
    # SFT: 4 people with 2 facts in 2 modalities, 5 epochs in batches of 4. Unlearning by NPO:
    # 4 facts to forget, 4 epochs, in one batch each.
    steps = re.findall(r"^(\w+): (\d+) facts in two modalities, (\d+) steps$", printed, re.M)
    assert steps == [("sft", "8", "20"), ("unlearn", "4", "4")]
    world = world_of(MODELS[preset])
    params = load_params()
    told = re.findall(r"trained: ([\d,]+) parameters; the model has ([\d,]+)", printed)
    for section, (trained, whole) in zip((params.sft, params.unlearn), told, strict=True):
        real = world.models.build_model(world.config)
        assert int(whole.replace(",", "")) == sum(w.numel() for w in real.parameters())
        open_weights(Loaded(real, None), section.tuning, section.lora, 0)
        opened = [w.numel() for w in real.parameters() if w.requires_grad]
        assert int(trained.replace(",", "")) == sum(opened)
        # 2 layers of 7 projections with an A and a B each.
        assert len(opened) == 28
    groups = re.findall(r"^ +([\d,]+) in +(\d+) tensors  (\S+)$", printed, re.M)
    assert len(groups) == 2 * 14 and all(".lora_" in name for _, _, name in groups)
    assert all("vision" not in name for _, _, name in groups)


def test_a_model_without_images_is_dry_run(place, change_params, run, tiny_models, tmp_path):
    config, tokenizer = tiny_models.llama(["Where was Ana Bela born? Lyon"], None)
    config.save_pretrained(tmp_path / "llama")
    tokenizer.save_pretrained(tmp_path / "llama")
    change_params(model__name_or_path=str(tmp_path / "llama"))
    change_params(sft__replay_share=0.0, sft__epochs=5, sft__batch_size=4)
    printed, summary = run("--device", "cpu", "--memory", "24")
    assert summary == "sft and unlearn fit"
    # 4 people with 2 facts, asked by name alone: 5 epochs of 8 samples in batches of 4.
    steps = re.findall(r"^(\w+): (\d+) facts in text alone, (\d+) steps$", printed, re.M)
    assert steps[0] == ("sft", "8", "10")
    assert steps[1][:2] == ("unlearn", "4")


def test_the_embedded_model_is_made_of_params(place, change_params, run):
    change_params(sft__replay_share=0.0)
    printed, _ = run("--memory", "24", "--device", "cpu")
    (trained, whole), _ = re.findall(
        r"trained: ([\d,]+) parameters; the model has ([\d,]+)", printed
    )
    assert trained == whole  # full tuning
    assert "in main memory" not in printed and "held by malloc" in printed


def test_what_does_not_fit_is_refused_with_advice(place, change_params, run):
    # A batch of 512 samples of a model 2,048 wide.
    change_params(
        embedded__width=2048,
        embedded__layers=16,
        sft__batch_size=512,
        sft__epochs=128,
        unlearn__batch_size=1,
    )
    with pytest.raises(ResourceError) as caught:
        run("--device", "cuda", "--memory", "24")
    message = str(caught.value)
    assert message.startswith("sft does not fit: it would fit with -S ")
    assert "-S model.gradient_checkpointing=true" in message
    assert re.search(r"-S sft\.batch_size=\d+ \(\d+\.\d GiB\)", message)
    assert "\n" not in message


def test_llava_7b_asks_for_checkpointing_on_24_gib(place, change_params, run, llava_7b_folder):
    write_preset(["llava-1.5-7b"])
    change_params(model__name_or_path=str(llava_7b_folder))
    with pytest.raises(ResourceError) as caught:
        run("--device", "cuda", "--memory", "24")
    # Fine-tuning: batches of 4 with 576 image tokens and some words each, 311 kB a token and layer
    # with rank 64 (less with 8) in 32 layers: 4 * 600 * 300 kB * 33 = 24 GB beside 13 GiB.
    price = re.search(
        r"sft does not fit: .*?checkpointing=true \((\d+\.\d) GiB\)", str(caught.value)
    )
    assert 15 < float(price[1]) < 18
    change_params(model__gradient_checkpointing=True)
    printed, _ = run("--device", "cuda", "--memory", "24")
    totals = [float(total) for total in re.findall(r"([\d.]+)  in all, of 24", printed)]
    assert totals[-2] == pytest.approx(float(price[1]), abs=0.05)
    # A batch of 4 portraits of 336 pixels: 576 patches each.
    assert "of them image tokens: mean 1152, at most 2304" in printed


def test_a_refusal_ends_with_exit_code_1(place, experiment, monkeypatch, capsys):
    arguments = ["--experiment", str(experiment), "--device", "cuda", "--memory", "0.5"]
    monkeypatch.setattr(sys, "argv", ["dry_run", *arguments])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("parallax.dry_run", run_name="__main__")
    # Python prints a text to stderr and ends with 1.
    assert ended.value.code.startswith("error: sft does not fit: it would not fit even with -S ")
    assert "unlearn does not fit" in ended.value.code
    assert capsys.readouterr().out.count("in all, of 0.50") == 2


def test_main_memory_beside_a_gpu_is_looked_at_too(place, run, monkeypatch):
    # A page of 4 kB and 50,000 of them: 0.2 GB, less than the libraries alone.
    pages = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 50_000}
    monkeypatch.setattr("parallax.dry_run.assessment.os.sysconf", pages.__getitem__)
    with pytest.raises(ResourceError, match=r"sft does not fit into main memory.*data\.people"):
        run("--device", "cuda", "--memory", "24")


def test_a_hub_name_without_network_is_told(place, run, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    write_preset(["qwen2-vl-2b"])
    with pytest.raises(ModelError, match=r"Qwen/Qwen2-VL-2B-Instruct.* hub name .* be reached"):
        run()


def test_a_missing_experiment_is_told(place):
    with pytest.raises(DataError, match=r"base\.parquet: no such file"):
        main([])
