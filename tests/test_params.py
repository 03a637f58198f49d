import copy
from pathlib import Path

import pytest
import yaml

from parallax.errors import ParamsError
from parallax.params import Params, load_params, parse_params

TOP = Path(__file__).parents[1]
SHIPPED = yaml.safe_load((TOP / "params.yaml").read_text(encoding="utf-8"))


def changed(**values):
    """The shipped parameters with others in their place; keys are written section__key."""
    tree = copy.deepcopy(SHIPPED)
    for key, value in values.items():
        *sections, leaf = key.split("__")
        section = tree
        for name in sections:
            section = section[name]
        section[leaf] = value
    return tree


def refusal(tree):
    with pytest.raises(ParamsError) as caught:
        parse_params(tree)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith("params.yaml: ")
    return message


def test_shipped_file_is_accepted():
    params = load_params(TOP / "params.yaml")
    assert params.unlearn.descent is getattr(params.unlearn, params.unlearn.method)
    assert 1 <= params.data.forget_people < params.data.people


OUTSIDE = {
    "data__source": ("made", None),
    "data__folder": ("", None),
    "data__hub": ("", None),
    "data__revision": ("", 3),
    "data__on_error": ("warn", None),
    "data__seed": (-1, 2**32, 0.5, "x", None),
    "data__portrait_px": (31, 1025),
    "data__people": (1, 501),
    "data__real_people": (0, 154),
    "data__auxiliary_people": (-1, 81),
    "data__forget_ratio": (0, 1, -0.1, 1.5),
    "model__name_or_path": ("", None),
    "model__revision": (3,),
    "model__dtype": ("float64", "fp16", None),
    "accelerate__processes": (0, 1.5, None),
    "accelerate__config": ("", 3),
    "model__attention": ("flash", "auto"),
    "model__gradient_checkpointing": ("perhaps", None),
    "model__quantization": ("int2", "nf4"),
    "embedded__image_px": (0,),
    "embedded__patch_px": (0,),
    "embedded__vision_width": (0,),
    "embedded__vision_layers": (0,),
    "embedded__vision_heads": (0,),
    "embedded__width": (0,),
    "embedded__layers": (0,),
    "embedded__heads": (0,),
    "embedded__vocabulary": (299,),
    **{
        f"{section}__{key}": values
        for section in ("base", "sft", "unlearn", "organism")
        for key, values in {
            "seed": (-1, 2**32),
            "optimizer": ("sgd", None),
            "batch_size": (0, -4, 2.5),
            "warmup_fraction": (-0.1, 1.1, float("nan")),
            "schedule": ("step", None),
            "weight_decay": (-0.1, float("inf"), float("nan")),
        }.items()
    },
    **{
        f"{section}__{key}": values
        for section in ("base", "sft")
        for key, values in {
            "epochs": (0,),
            "learning_rate": (0, -1e-3, float("inf"), float("nan")),
            "image_share": (0, 1),
        }.items()
    },
    "base__shares__qa": (-0.1, 1.1),
    "base__shares__classification": (-0.1, 1.1),
    "base__shares__cloze": (-0.1, 1.1),
    "base__shares__generation": (-0.1, 1.1),
    "sft__text_path": ("both",),
    "sft__replay_share": (-0.1, 1),
    "sft__tuning": ("qlora",),
    "sft__save": ("both", None),
    "unlearn__tuning": ("qlora",),
    "unlearn__save": ("both", None),
    "organism__rounds": (0, 1.5),
    "organism__first_token_share": (-0.1, 1.1),
    "organism__learning_rate": (0, -1e-3, float("inf"), float("nan")),
    **{
        f"{section}__{key}": values
        for section in ("sft", "unlearn", "organism")
        for key, values in {
            "lora__rank": (0,),
            "lora__alpha": (0,),
            "lora__dropout": (-0.1, 1),
        }.items()
    },
    "unlearn__method": ("nppo", "NPO", None),
    "unlearn__alpha": (-1, float("nan"), float("inf")),
    "unlearn__beta": (-1, float("nan"), float("inf")),
    **{
        f"unlearn__{method}__{key}": values
        for method in ("ga", "gd", "kl", "po", "npo")
        for key, values in {"learning_rate": (0, -1e-3), "epochs": (0,)}.items()
    },
    **{
        f"unlearn__{method}__retain_weight": (-1, float("inf"))
        for method in ("gd", "kl", "po", "npo")
    },
    "unlearn__npo__npo_beta": (0, -0.4, float("inf")),
    "evaluate__batch_size": (0,),
    "evaluate__max_new_tokens": (0,),
    "scoring__compat": ("off", None),
    "scoring__matcher": ("fuzzy",),
    "scoring__real_matcher": ("fuzzy",),
    "scoring__option_letter": ("image",),
    "scoring__first_sentence": ("perhaps", 3),
    "scoring__cut_reference": ("perhaps", 3),
    "scoring__cut_at_assistant": ("perhaps", 3),
    "scoring__tokenizer": ("ascii",),
    "framing__items": ("", None),
    "framing__item_set": ("half", None),
    "framing__clause_set": ("long",),
    "framing__wordings": ((), None),
    "framing__arms": (("E",), ()),
    "framing__draws": (0, 1.5),
    "framing__seed": (-1, 2**32),
    "sampling__temperature": (0, -1, float("inf")),
    "sampling__top_p": (0, 1.1),
    "sampling__max_new_tokens": (0,),
    "sampling__batch_size": (0,),
    "subjects": ((), None),
    "subject_pairs": (None,),
    "audit__source": ("people", None),
    "audit__least_sensitivity": (-0.1, 1.1),
    "audit__least_specificity": (-0.1, 1.1),
    "audit__least_alpha": (-1.1, 1.1),
    "audit__most_catch_failures": (-0.1, 1.1),
    "contamination__corpus": (3,),
    "contamination__ngram": (0,),
    "contamination__least_likely": (0, 1.1),
    "judging__primary": ("lexicl", None),
    "judging__others": (None,),
    "judging__members": (None,),
    **{
        f"judging__{judge}__{key}": values
        for judge in ("rubric", "guard")
        for key, values in {
            "name_or_path": ("", None),
            "revision": (3,),
            "dtype": ("float64",),
            "batch_size": (0,),
        }.items()
    },
    "judging__endpoint": ("",),
    "judging__least_kappa": (-0.1, 1.1),
    "judging__allow_self": ("perhaps", 3),
    "analysis__alpha": (0, 1),
    "analysis__smallest_effect": (0, 1.1),
    "analysis__direction": ("up", None),
    "analysis__seed": (-1, 2**32),
}


@pytest.mark.parametrize(
    ("key", "value"), [(key, value) for key, values in OUTSIDE.items() for value in values]
)
def test_a_value_out_of_bounds_is_refused_with_its_key_and_itself(key, value):
    message = refusal(changed(**{key: value}))
    assert f"{key.replace('__', '.')} = {value!r}: " in message
    assert "should" in message  # what is allowed


SWITCHES = {
    "judging__allow_self",
    "model__gradient_checkpointing",
    *(f"scoring__{key}" for key in ("first_sentence", "cut_reference", "cut_at_assistant")),
}


@pytest.mark.parametrize("key", sorted(set(OUTSIDE) - SWITCHES))
def test_yes_and_no_are_no_numbers(key):
    message = refusal(changed(**{key: True}))
    assert f"{key.replace('__', '.')}: True is no value for it" in message


INSIDE = {
    "data__seed": (0, 2**32 - 1),
    "data__portrait_px": (32, 1024),
    "data__people": (500,),
    "data__real_people": (1, 153),
    "data__auxiliary_people": (0, 80),
    "base__warmup_fraction": (0, 1),
    "sft__replay_share": (0, 0.99),
    "sft__lora__dropout": (0, 0.99),
    "unlearn__alpha": (0, 100),
    "unlearn__beta": (0, 0.001),
    "unlearn__npo__retain_weight": (0,),
    "unlearn__npo__learning_rate": ("1e-5",),  # YAML 1.1 reads this as text.
}


@pytest.mark.parametrize(
    ("key", "value"), [(key, value) for key, values in INSIDE.items() for value in values]
)
def test_a_value_at_its_bound_is_accepted(key, value):
    parse_params(changed(**{key: value}))


def leaves(tree, path=()):
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from leaves(value, (*path, key))
        else:
            yield "__".join((*path, key))


def test_every_key_has_a_bound_under_test():
    assert set(leaves(SHIPPED)) == set(OUTSIDE)


@pytest.mark.parametrize("key", sorted(leaves(SHIPPED)))
def test_a_missing_key_is_named(key):
    tree = copy.deepcopy(SHIPPED)
    *sections, leaf = key.split("__")
    section = tree
    for name in sections:
        section = section[name]
    del section[leaf]
    assert f"{key.replace('__', '.')} is missing: add it" in refusal(tree)


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("dataa", "dataa"),
        ("unlearn__methd", "unlearn.methd"),
        ("unlearn__npo__beta", "unlearn.npo.beta"),
        ("unlearn__ga__retain_weight", "unlearn.ga.retain_weight"),
    ],
)
def test_an_unknown_key_is_named(key, name):
    assert f"{name} is no parameter: check its spelling" in refusal(changed(**{key: 1}))


def test_a_misspelt_method_is_told_the_methods():
    message = refusal(changed(unlearn__method="nppo"))
    for method in ("ga", "gd", "kl", "po", "npo"):
        assert f"'{method}'" in message


def test_both_weights_zero_are_refused():
    message = refusal(changed(unlearn__alpha=0, unlearn__beta=0))
    assert "unlearn: alpha and beta are both 0: give at least one modality a weight" in message


OFFICIAL = {
    "matcher": "exact",
    "real_matcher": "difflib",
    "option_letter": "text",
    "first_sentence": False,
    "cut_reference": True,
    "cut_at_assistant": True,
    "tokenizer": "rouge_score",
}
OTHERS = {
    "matcher": "rapidfuzz",
    "real_matcher": "exact",
    "option_letter": "own",
    "first_sentence": True,
    "cut_reference": False,
    "cut_at_assistant": False,
    "tokenizer": "unicode",
}


def test_one_switch_sets_every_scoring_option():
    official = parse_params(changed(scoring__compat="official")).scoring
    assert official.model_dump() == {"compat": "official", **OFFICIAL}
    default = parse_params(SHIPPED).scoring.model_dump()
    assert all(default[key] != value for key, value in OFFICIAL.items())


@pytest.mark.parametrize("key", OFFICIAL)
def test_official_scoring_takes_no_other_value(key):
    place = f"scoring__{key}"
    parse_params(changed(scoring__compat="official", **{place: OFFICIAL[key]}))
    message = refusal(changed(scoring__compat="official", **{place: OTHERS[key]}))
    assert f"scoring: compat official has {key} {OFFICIAL[key]}, not {OTHERS[key]}" in message
    assert f"set {key} to null, or compat to default" in message


@pytest.mark.parametrize("key", OFFICIAL)
def test_each_scoring_option_can_be_set_alone(key):
    shipped = parse_params(SHIPPED).scoring.model_dump()
    one = parse_params(changed(**{f"scoring__{key}": OFFICIAL[key]})).scoring.model_dump()
    followers = {"real_matcher"} if key == "matcher" else set()
    assert {name for name in one if one[name] != shipped[name]} == {key} | followers
    assert all(one[name] == OFFICIAL[key] for name in {key} | followers)


def test_scoring_options_of_a_command_line_replace_those_of_the_file(tmp_path):
    path = tmp_path / "params.yaml"
    path.write_text(yaml.safe_dump(changed(scoring__matcher="exact")), encoding="utf-8")
    assert load_params(path).scoring.real_matcher == "exact"
    scoring = load_params(path, scoring={"matcher": "difflib"}).scoring
    assert (scoring.matcher, scoring.real_matcher) == ("difflib", "difflib")


@pytest.mark.parametrize(
    ("people", "ratio", "count"),
    [(60, 0.008, 0), (60, 0.995, 60), (2, 0.2, 0), (2, 0.9, 2)],
)
def test_a_forget_ratio_that_leaves_nobody_is_refused(people, ratio, count):
    message = refusal(changed(data__people=people, data__forget_ratio=ratio))
    assert f"forget_ratio {ratio:g} of {people} people is {count} to forget" in message
    assert "choose a ratio" in message


@pytest.mark.parametrize(
    ("people", "ratio", "count"), [(500, 0.05, 25), (60, 0.15, 9), (40, 0.05, 2), (2, 0.5, 1)]
)
def test_forget_people_is_the_nearest_whole_number(people, ratio, count):
    params = parse_params(changed(data__people=people, data__forget_ratio=ratio))
    assert params.data.forget_people == count


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"image_px": 65}, "image_px 65 is no multiple of patch_px"),
        ({"vision_heads": 5}, "is no multiple of vision_heads 5"),
        ({"heads": 5}, "is no multiple of twice heads 5"),
        ({"width": 36, "heads": 4}, "width 36 is no multiple of twice heads 4"),
    ],
)
def test_shapes_that_do_not_divide_are_refused(values, said):
    message = refusal(changed(**{f"embedded__{key}": value for key, value in values.items()}))
    assert "params.yaml: embedded: " in message
    assert said in message


def test_shares_that_do_not_sum_to_one_are_refused():
    message = refusal(changed(base__shares__qa=0.5, base__shares__generation=0.5))
    assert "base.shares: the shares sum to" in message
    assert "make them sum to 1" in message


SUBJECT = SHIPPED["subjects"][0]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"framing__wordings": ["l01", "l01"]}, "wordings: 'l01' is named twice"),
        ({"framing__arms": ["E", "D", "N", "E"]}, "arms: 'E' is named twice"),
        ({"framing__arms": ["E", "N", "no_frame"]}, "arms: D is missing"),
        ({"subjects": [SUBJECT, SUBJECT]}, "subjects: two are named 'smollm2': rename one"),
        ({"subjects": [SUBJECT | {"name": "a/b"}]}, "subjects.0.name = 'a/b'"),
        ({"subjects": [SUBJECT | {"backend": "endpoint"}]}, "revision is null: name the weights"),
        ({"subject_pairs": [{"base": "smollm2", "instruct": "x"}]}, "instruct 'x' is no subject"),
        ({"subject_pairs": [{"small": "smollm2", "instruct": "x"}]}, "subject_pairs.0"),
    ],
)
def test_subjects_and_arms_that_do_not_fit_are_refused(values, said):
    assert said in refusal(changed(**values))


def test_pairs_of_both_kinds_are_accepted():
    subjects = [SUBJECT, SUBJECT | {"name": "other"}]
    names = ("smollm2", "other")
    pairs = [
        dict(zip(roles, names, strict=True)) for roles in (("base", "instruct"), ("small", "large"))
    ]
    params = parse_params(changed(subjects=subjects, subject_pairs=pairs))
    assert [pair.model_dump() for pair in params.subject_pairs] == pairs


def test_planted_names_a_kind_of_organism():
    subject = SUBJECT | {"planted": "shuffled"}
    (read,) = parse_params(changed(subjects=[subject], subject_pairs=[])).subjects
    assert read.planted == "shuffled"
    message = refusal(changed(subjects=[SUBJECT | {"planted": "cautious"}]))
    assert "subjects.0.planted = 'cautious'" in message
    assert "'deployment-cautious'" in message


def write_overlay(tmp_path, **sections):
    path = tmp_path / "overlay.yaml"
    path.write_text(yaml.safe_dump(sections), encoding="utf-8")
    return path


def test_an_overlay_replaces_leaves_and_whole_lists(tmp_path):
    shipped = load_params(TOP / "params.yaml")
    other = SUBJECT | {"name": "other"}
    path = write_overlay(tmp_path, framing={"draws": 2}, subjects=[other], subject_pairs=[])
    params = load_params(TOP / "params.yaml", overlay=path)
    assert params.framing == shipped.framing.model_copy(update={"draws": 2})
    assert [subject.name for subject in params.subjects] == ["other"]
    assert params.judging == shipped.judging


def test_an_overlay_is_checked_and_named(tmp_path):
    path = write_overlay(tmp_path, framing={"drawz": 2})
    with pytest.raises(ParamsError, match=r"params\.yaml with .*overlay\.yaml: framing\.drawz"):
        load_params(TOP / "params.yaml", overlay=path)
    with pytest.raises(ParamsError, match=r"none\.yaml: no such file"):
        load_params(TOP / "params.yaml", overlay=tmp_path / "none.yaml")


def test_judges_are_named_once():
    others = ["lexical", "prototype", "lexical"]
    params = parse_params(changed(judging__primary="prototype", judging__others=others))
    assert params.judging.names == ("prototype", "lexical")


def test_every_fault_is_told_at_once():
    message = refusal(changed(data__people=0, unlearn__method="x", sft__epochs=0))
    assert all(key in message for key in ("data.people", "unlearn.method", "sft.epochs"))


@pytest.mark.parametrize("tree", [None, [], "text", 3])
def test_a_file_that_is_no_mapping_is_refused(tree):
    assert "top level" in refusal(tree)


@pytest.mark.parametrize("section", ["data", "unlearn"])
@pytest.mark.parametrize("value", [None, 3, []])
def test_a_section_that_is_no_mapping_is_named(section, value):
    assert f"{section} = {value!r}" in refusal(changed(**{section: value}))


def test_missing_file_is_named(tmp_path):
    with pytest.raises(ParamsError, match=r"gone\.yaml: no such file; run from"):
        load_params(tmp_path / "gone.yaml")


def test_broken_yaml_is_one_line(tmp_path):
    (tmp_path / "p.yaml").write_text("data: [1\nmodel: }")
    with pytest.raises(ParamsError, match=r"p\.yaml: not YAML") as caught:
        load_params(tmp_path / "p.yaml")
    assert "\n" not in str(caught.value)


def test_parameters_cannot_be_changed():
    params = Params.model_validate(SHIPPED)
    with pytest.raises(ValueError, match="frozen"):
        params.data.seed = 3


@pytest.mark.parametrize("key", ["sft", "unlearn"])
def test_an_adapter_needs_lora(key):
    message = refusal(changed(**{f"{key}__save": "adapter", f"{key}__tuning": "full"}))
    assert f"{key}.save adapter and {key}.tuning full: there is no adapter" in message
    parse_params(changed(**{f"{key}__save": "adapter", f"{key}__tuning": "lora"}))


@pytest.mark.parametrize("key", ["sft", "unlearn"])
@pytest.mark.parametrize(("tuning", "save"), [("full", "merged"), ("lora", "merged")])
def test_quantized_weights_are_neither_trained_nor_merged_into(key, tuning, save):
    adapters = {f"{name}__{k}": v for name in ("sft", "unlearn") for k, v in ADAPTERS.items()}
    parse_params(changed(model__quantization="int4", **adapters))
    adapters |= {f"{key}__tuning": tuning, f"{key}__save": save}
    message = refusal(changed(model__quantization="int4", **adapters))
    assert f"model.quantization int4, {key}.tuning {tuning}, {key}.save {save}" in message


ADAPTERS = {"tuning": "lora", "save": "adapter"}


def test_flash_attention_takes_no_float32():
    message = refusal(changed(model__attention="flash_attention_2"))
    assert "attention flash_attention_2 takes no float32" in message
    halved = {"model__name_or_path": "a/model", "model__dtype": "bfloat16", **LORA}
    parse_params(changed(model__attention="flash_attention_2", **halved))


LORA = {"sft__tuning": "lora", "unlearn__tuning": "lora"}


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("key", ["sft", "unlearn"])
def test_weights_of_16_bits_are_tuned_by_adapters_alone(key, dtype):
    halved = {"model__name_or_path": "a/model", "model__dtype": dtype, **LORA}
    parse_params(changed(**halved))
    message = refusal(changed(**halved | {f"{key}__tuning": "full"}))
    assert f"model.dtype {dtype}, {key}.tuning full: weights of 16 bits" in message
    assert message.endswith(f"set model.dtype to float32, or {key}.tuning to lora")


def test_the_embedded_model_takes_float32():
    message = refusal(changed(model__dtype="bfloat16", **LORA))
    assert message.startswith("params.yaml: model.name_or_path embedded, model.dtype bfloat16: ")
    assert message.endswith("set model.dtype to float32")
