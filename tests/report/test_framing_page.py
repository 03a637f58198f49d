import base64
import dataclasses
import hashlib
import json
import re
from pathlib import Path

import pytest

from parallax.params import load_params
from parallax.report.figures import Figures
from parallax.report.framing import build_framing
from parallax.report.framing_inputs import read_framing_inputs
from parallax.report.html import render_page
from parallax.report.unlearning import build_sections

HOSTILE = '</script><script>alert(1)</script><img src=x onerror="alert(2)">'
PARAMS = load_params(Path(__file__).parents[2] / "params.yaml")


def render(inputs):
    return render_page("Parallax report", build_framing(inputs, PARAMS))


@pytest.fixture(scope="module")
def page(framing):
    return render(framing)


@pytest.fixture(scope="module")
def both(inputs, framing):
    sections = [*build_sections(inputs, PARAMS), *build_framing(framing, PARAMS)]
    return render_page("Parallax report", sections)


def section(page, anchor):
    return page.split(f'<section id="{anchor}"')[1].split("</section>")[0]


def words_of(markup):
    return " ".join(re.sub(r"<[^>]*>", " ", markup).split())


def test_page_is_the_same_again_whatever_the_order_of_rows(framing, page):
    changed = dataclasses.replace(
        framing,
        **{
            name: getattr(framing, name).sample(frac=1, random_state=1)
            for name in ("effects", "item_effects", "responses", "verdicts", "familiarity")
        },
    )
    assert render(changed) == page


def test_both_halves_are_on_one_page_with_a_navigation_each(both):
    navigation = re.findall(r'<nav aria-label="(\w+)">', both)
    assert navigation[:2] == ["Unlearning", "Framing"]
    head = both.split("</header>")[0]
    assert 'href="#verdict"' in head
    assert 'href="#framing-verdict"' in head
    assert both.index('id="unlearning"') < both.index('id="verdict"')
    assert both.index('id="verdict"') < both.index('id="framing"')
    assert both.index('id="framing"') < both.index('id="framing-verdict"')
    assert "To the half on framing" in both
    assert "To the half on unlearning" in both


def test_ids_are_unique_and_every_anchor_has_its_target(both):
    ids = re.findall(r'\sid="([^"]*)"', both)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]*)"', both)) <= set(ids)


def test_nothing_is_loaded_from_elsewhere(both):
    assert not re.search(r"""(?:src|href|action|data)\s*=\s*["']?\s*(?:https?:)?//""", both)
    assert not re.search(r"@import|url\((?!#)", both)


def test_policy_allows_the_pages_own_script_alone(both):
    (script,) = re.findall(r"<script>(.*?)</script>", both, flags=re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in both


def test_hostile_text_is_escaped_wherever_it_comes_from(framing):
    changed = dataclasses.replace(
        framing,
        responses=framing.responses.assign(response=HOSTILE, wording=HOSTILE),
        verdicts=framing.verdicts.assign(reason=HOSTILE, wording=HOSTILE),
        prompts=framing.prompts.assign(body=HOSTILE, text=HOSTILE, wording=HOSTILE),
        pairs=framing.pairs.assign(topic=HOSTILE, a=HOSTILE, b=HOSTILE),
        audited=framing.audited.assign(reason=HOSTILE, equivalent=False),
        familiarity=framing.familiarity.assign(item=HOSTILE),
        checks=tuple(
            dataclasses.replace(check, name=HOSTILE, error=HOSTILE, examples=(HOSTILE,))
            for check in framing.checks
        ),
    )
    page = render(changed)
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert page.count("<script>") == 1
    data = page.split('<script type="application/json" id="log-data">')[1].split("</script>")[0]
    assert json.loads(data)["rows"][0][6] == HOSTILE


def test_headline_and_claims_stand_under_their_judge(page):
    verdict = section(page, "framing-verdict")
    scope = "under this judge (prototype, kappa 0.76)"
    headline = "organism: eval-cautious; behind: no significant contrast between the frames"
    assert f"{headline}, {scope}" in words_of(verdict)
    for tile in verdict.split("<li>")[1:]:
        assert scope in words_of(tile)
    assert verdict.count('class="claim"') == 2
    for claim in verdict.split('class="claim"')[1:]:
        assert scope in words_of(claim.split("</h3>")[0])
    for anchor in ("framing-contrasts", "framing-items", "framing-doubts", "framing-familiarity"):
        assert scope in words_of(section(page, anchor)).lower()


def test_judges_cards_show_what_should_not_matter(framing):
    cards = framing.judges
    flips = {"responses": 104, "flipped": 13, "value": 0.125, "low": 0.07, "high": 0.2}
    values = {name: cards.part(name)._values for name in cards.names}
    changed = json.loads(json.dumps(values))
    changed["lexical"]["robustness"] |= {
        "rewordings": [flips],
        "content_free": {"letters": {"A": 0.75}, "categories": {"off_topic": 0.5}},
    }
    page = render(dataclasses.replace(framing, judges=Figures(changed, "judges.json")))
    words = words_of(section(page, "framing-judges"))
    assert "response in lower case 104 0.02 (0.01 to 0.07)" in words
    assert "asked again, in another batch 104 0.00" in words
    assert "rubric in other words not applicable: it has no rubric of ours" in words
    assert "rubric in other words, 1 104 0.12 (0.07 to 0.20)" in words
    assert (
        "frame label shown, organism 144 E 0.03, D 0.02, N 0.01; largest bias 0.0 points" in words
    )
    assert "A with probability 0.75, which the four orders of the options take out" in words
    assert "refusal, sampled 26 0.81 (0.61 to 0.93) 0.95 (0.77 to 1.00)" in words


def test_effects_stand_side_by_side_by_judge(page, framing):
    judges = section(page, "framing-judges")
    words = words_of(judges)
    assert "Does the effect depend on who judges?" in words
    assert "prototype minus this judge" in words
    assert words.count("the judge of the claims") == 3 * len(framing.subjects)
    entry = framing.metrics.part("subjects", "organism", "judge_differences", "lexical")
    estimate = entry.number("refusal_E-N", "estimate")
    assert f"{100 * estimate:+.1f}".replace("-", "\N{MINUS SIGN}") in words


def test_worst_is_against_the_sign_of_what_was_scored(framing):
    values = json.loads(json.dumps(framing.metrics._values))
    primary = values["subjects"]["organism"]["judges"]["prototype"]["primary"]
    for key, scored, lowest, highest, survives in (
        ("refusal_E-N", 0.3, -0.05, 0.4, False),
        ("harmful_E-D", -0.3, -0.4, -0.1, True),
    ):
        primary[key]["abstention"] |= {"scored": scored, "lowest": lowest, "highest": highest}
        primary[key]["abstention"]["sign_survives"] = survives
    page = render(dataclasses.replace(framing, metrics=Figures(values, "framing.json")))
    doubts = section(page, "framing-doubts")
    table = words_of(doubts.split('aria-label="If unscored responses were all against it, ')[1])
    minus = "\N{MINUS SIGN}"
    assert "Contrast Scored At worst At best Sign" in table
    assert f"refusal E {minus} N +30.0 {minus}5.0 +40.0 can turn" in table
    assert f"harmful compliance E {minus} D {minus}30.0 {minus}10.0 {minus}40.0 holds" in table


def test_the_margin_is_printed_with_its_decimals(framing):
    analysis = PARAMS.analysis.model_copy(update={"smallest_effect": 0.025})
    params = PARAMS.model_copy(update={"analysis": analysis})
    page = render_page("Parallax report", build_framing(framing, params))
    band = "the band is plus and minus 2.5 points, the smallest effect of interest"
    assert band in words_of(section(page, "framing-verdict"))
    definitions = words_of(section(page, "framing-definitions"))
    assert "shown to lie within 2.5 points of 0" in definitions
    assert "the detectable effect is larger than 2.5 points." in definitions


def test_pilot_is_called_a_pilot(page):
    assert "a pilot of 8 items" in words_of(section(page, "framing-verdict"))


def test_what_was_not_measured_is_said(page):
    assert "Not measured: the measures need the model\u2019s weights" in page
    assert "descriptive: 8 items are too few" in page


def test_one_subject_behind_an_endpoint_under_one_judge(lone):
    page = render(lone)
    assert 'id="framing-models"' not in page
    assert "one judge alone, nothing to compare" in page
    assert "differ between judges" not in page
    assert "log-odds of refusal, nats" not in page
    assert "under the other judges" not in page


def test_a_subject_that_never_moves(framing_sample, tmp_path):
    paths = framing_sample.write_run(tmp_path, subjects=("mute",), judges=("lexical",))
    page = render(read_framing_inputs(**paths))
    assert "mute: no significant contrast" in words_of(section(page, "framing-verdict"))
    assert "nan" not in words_of(page.split("<main>")[1].split("<script")[0]).lower().split()


def test_a_judge_that_cannot_tell_refusals(framing_sample, tmp_path):
    paths = framing_sample.write_run(tmp_path, judges=("guard", "prototype"))
    page = render(read_framing_inputs(**paths))
    tiles = section(page, "framing-verdict").split("<li>")[1:]
    assert "undefined" in words_of(tiles[0])
    assert "undefined" not in words_of(tiles[2])
    assert "not harmful compliance" in words_of(section(page, "framing-judges"))
    assert "nan" not in words_of(page.split("<main>")[1].split("<script")[0]).lower().split()


def test_a_withheld_claim_is_said(framing_sample, tmp_path):
    paths = framing_sample.write_run(tmp_path, largest_bias=0.2)
    verdict = words_of(section(render(read_framing_inputs(**paths)), "framing-verdict"))
    assert "Significant, but no claim is made: refusal E \N{MINUS SIGN} N" in verdict
    judges = section(render(read_framing_inputs(**paths)), "framing-judges")
    assert "✗ failed" in judges


def test_a_proxy_is_called_a_proxy_and_no_people(page):
    checks = words_of(section(page, "framing-checks"))
    assert "Answered by a proxy, not by people" in checks
    assert "finds 23 of 24 planted differences (sensitivity)" in checks
    assert "lets 20 of 24 equivalent pairs pass (specificity)" in checks
    assert "Equivalent by the proxy: 7 of 8 items; doubtful: 1." in checks


def test_log_says_what_to_do_without_scripts(page):
    log = section(page, "framing-log")
    assert re.search(r'<p id="log-notice">The 384 responses are shown by a script', log)
    assert '<form class="filter" hidden>' in log


def test_drawings_have_names_and_tables_scroll_by_keyboard(both):
    for tag in re.findall(r"<svg[^>]*>", both):
        assert "aria-label=" in tag or 'aria-hidden="true"' in tag
    for tag in re.findall(r'<div class="scroll"[^>]*>', both):
        assert 'tabindex="0"' in tag
        assert "aria-label=" in tag


def test_parameters_are_those_of_their_half(both):
    first, second = section(both, "parameters"), section(both, "framing-parameters")
    assert "npo.npo_beta" in first
    assert "draws" not in first
    assert "draws" in second
    assert "1.name_or_path" in second
    assert "npo_beta" not in second
    # The guard did not judge.
    assert "guard" not in second
