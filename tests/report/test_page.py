import base64
import dataclasses
import hashlib
import re
from pathlib import Path

import pytest

from parallax.params import load_params, parse_scoring
from parallax.provenance import Provenance
from parallax.report.html import Section, render_page
from parallax.report.unlearning import build_sections

HOSTILE = '<script>alert(1)</script><img src=x onerror="alert(2)">'
PARAMS = load_params(Path(__file__).parents[2] / "params.yaml")


@pytest.fixture(scope="module")
def page(inputs):
    return render_page("Report", build_sections(inputs, PARAMS))


def test_page_is_the_same_again_whatever_the_order_of_rows(inputs, page):
    shuffled = inputs.scored.sample(frac=1, random_state=1)
    changed = dataclasses.replace(inputs, scored=shuffled)
    assert render_page("Report", build_sections(changed, PARAMS)) == page


def test_nothing_is_loaded_from_elsewhere(page):
    assert not re.search(r"""(?:src|href|action|data)\s*=\s*["']?\s*(?:https?:)?//""", page)
    assert not re.search(r"@import|url\((?!#)", page)
    sources = re.findall(r'\bsrc="([^"]{0,30})', page)
    assert sources
    assert all(source.startswith("data:image/png;base64,") for source in sources)


def test_policy_allows_the_pages_own_script_alone(page):
    (script,) = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert "default-src 'none'" in page
    assert f"script-src 'sha256-{digest}'" in page


def test_hostile_text_is_escaped_wherever_it_comes_from(inputs, sample):
    scored = inputs.scored.copy()
    for column in ("prompt", "reference", "output"):
        scored[column] = HOSTILE
    scored["options"] = [[HOSTILE] * len(options) for options in scored["options"]]
    checks = tuple(
        dataclasses.replace(check, name=HOSTILE, error=HOSTILE, examples=(HOSTILE,))
        for check in inputs.checks
    )
    names = dict.fromkeys(inputs.names, HOSTILE)
    changed = dataclasses.replace(inputs, scored=scored, checks=checks, names=names)
    page = render_page(HOSTILE, build_sections(changed, PARAMS))
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert page.count("<script>") == 1


def test_every_forget_person_is_in_the_page(inputs, page):
    people = set(inputs.scored.query("set == 'forget'")["person_id"])
    for person in people:
        assert inputs.names[person] in page
    assert page.count('data-set="forget"') == len(people)


def test_answers_are_told_apart_without_colour(page):
    assert re.search(r'class="answer right"[^>]*><span class="sign" aria-hidden="true">✓', page)
    assert re.search(r'class="answer wrong"[^>]*><span class="sign" aria-hidden="true">✗', page)
    assert '<span class="hidden">wrong: </span>' in page


def test_images_and_drawings_have_names(page):
    assert all("alt=" in tag for tag in re.findall(r"<img[^>]*>", page))
    for tag in re.findall(r"<svg[^>]*>", page):
        assert "aria-label=" in tag or 'aria-hidden="true"' in tag


def test_ids_are_unique_and_every_anchor_has_its_target(page):
    ids = re.findall(r'\sid="([^"]*)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]*)"', page)) <= set(ids)


def test_parameters_of_other_methods_are_left_out(page):
    assert "npo.npo_beta" in page
    assert "gd.retain_weight" not in page


def test_page_stays_small(page):
    assert len(page.encode()) < 1_000_000


def test_a_further_section_needs_no_change_here():
    page = render_page("Report", [Section("more", "More", "checks", {"checks": ()})])
    assert '<section id="more"' in page
    assert "0 checks, all passed." in page


def test_method_without_retain_term_and_single_modality(inputs):
    curves = dict(inputs.curves)
    curves["unlearn"] = curves["unlearn"].drop(
        columns=["forget_text", "retain_image", "retain_text"]
    )
    values = PARAMS.model_dump()
    values["unlearn"] |= {"method": "ga", "beta": 0.0}
    params = type(PARAMS).model_validate(values)
    page = render_page("Report", build_sections(dataclasses.replace(inputs, curves=curves), params))
    assert "GA with alpha 1" in page
    assert "Retain term" not in page


def test_official_scoring_is_said(inputs, page):
    scoring = dict.fromkeys(type(PARAMS.scoring).model_fields) | {"compat": "official"}
    official = PARAMS.model_copy(update={"scoring": parse_scoring(scoring, "test")})
    shown = render_page("Report", build_sections(inputs, official))
    assert "Official scoring" in shown and "Official scoring" not in page


FLAW = {"subset": "Full_Set", "person_id": "7", "column": "Cloze", "reason": HOSTILE}
GIVEN = Provenance(
    "hub",
    {},
    {},
    layout="UMU-Bench",
    commit="c0ffee",
    left_out={"people": 1, "qa": 0, "cloze": 101},
    flaws=[FLAW | {"task": "", "field": ""}, *[FLAW | {"task": "cloze", "field": "city"}] * 101],
    unmapped=[
        {"subset": "", "column": HOSTILE, "reason": "no place", "count": 5, "examples": [HOSTILE]}
    ],
)


def test_flaws_of_given_files_are_listed_and_what_has_no_place_is_counted(inputs, page):
    given = render_page("Report", build_sections(dataclasses.replace(inputs, origin=GIVEN), PARAMS))
    section = given[given.index('id="checks"') : given.index('id="parameters"')]
    words = " ".join(re.sub(r"<[^>]+>", " ", section).split())
    assert "UMU-Bench's layout, from the hub at commit c0ffee ." in words
    assert (
        "102 flaws; left out in both modalities, and in every subset: 1 people, 101 cloze" in words
    )
    assert "the person" in words and "cloze city" in words
    assert section.count("<td>Cloze</td>") == 100
    assert "And 2 more in reports/validation.json" in words
    assert '<td class="n">5</td>' in section
    assert "<script>alert" not in section
    assert "Flaws of the files" not in page


def test_subsets_that_the_files_lack_are_named(inputs):
    origin = dataclasses.replace(GIVEN, drawn=["forget_5", "retain_95"])
    page = render_page("Report", build_sections(dataclasses.replace(inputs, origin=origin), PARAMS))
    assert "They don't say who is in forget_5, retain_95: <code>data.seed</code> has drawn" in page


def test_flaws_that_cost_nothing_countable_are_told(inputs):
    origin = dataclasses.replace(GIVEN, flaws=GIVEN.flaws[:1], left_out={"people": 0, "qa": 0})
    page = render_page("Report", build_sections(dataclasses.replace(inputs, origin=origin), PARAMS))
    assert "</code>. 1 flaws.</p>" in page


def test_checks_that_were_noted_or_skipped_say_why(inputs):
    outcomes = (("passed", ""), ("noted", "dates are alike"), ("skipped", "no profiles"))
    checks = tuple(
        dataclasses.replace(inputs.checks[0], outcome=outcome, reason=reason)
        for outcome, reason in outcomes
    )
    page = render_page("Report", [Section("more", "More", "checks", {"checks": checks})])
    assert "3 checks, 1 passed, 1 noted, 1 skipped." in page
    assert "Noted, for dates are alike." in page
    assert "Skipped, for no profiles." in page
