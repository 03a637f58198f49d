import base64
import dataclasses
import hashlib
import json
import re

import pytest

from parallax.framing.annotation.form import render_form
from parallax.framing.annotation.questions import QUESTIONS


@pytest.fixture
def page(masked):
    return render_form([row for row in masked if row.annotator == "2"])


def data_of(page):
    return json.loads(re.search(r'id="data">(.*)</script>\n<script>', page)[1])


def test_it_shows_the_rows_of_one_annotator_and_tells_nothing_else(page, masked):
    own = [row for row in masked if row.annotator == "2"]
    assert data_of(page)["rows"] == [[row.id, *row.texts] for row in own]
    for row in masked:
        assert f'"{row.pair}"' not in page
        assert (row.id in page) == (row.annotator == "2")
    for kind in {row.catch for row in masked} - {""}:
        assert kind not in page


def test_it_asks_the_three_questions(page):
    for question in QUESTIONS.values():
        assert f"<legend>{question.title}</legend>" in page
        assert question.wording in page


def test_it_stands_alone_and_runs_its_own_script_only(page):
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    script = re.search(r"<script>(.*)</script>\n</body>", page, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy.startswith("default-src 'none'") and f"'sha256-{digest}'" in policy
    assert not re.search(r"""(src|href)=|url\(|https?:|@import|fetch\(|XMLHttp""", page)


def test_a_text_cannot_end_the_data(masked):
    row = masked[0].__class__("1", "bcdfgh", "x", "", "a", "</script><script>alert(1)//", "b")
    page = render_form([row])
    assert page.count("</script>") == 2
    assert data_of(page)["rows"] == [["bcdfgh", "</script><script>alert(1)//", "b"]]


def test_forms_of_other_annotators_and_other_texts_keep_their_answers_apart(masked):
    rows = [[row for row in masked if row.annotator == name] for name in "123"]
    rows.append([dataclasses.replace(row, a=f"{row.a} Please.") for row in rows[0]])
    assert len({data_of(render_form(own))["store"] for own in rows}) == 4
