"""The form as an annotator uses it: opened from a file in Chromium, without a mouse."""

import csv
import io
import time

import pytest

from parallax.errors import DataError
from parallax.framing.annotation.form import render_form
from parallax.framing.annotation.sheets import ANSWER_COLUMNS, collect_answers

NO_STORAGE = {"profile.default_content_setting_values.cookies": 2}


def wait_for(look):
    """Return what `look` gives as soon as it gives something."""
    for _ in range(100):
        if found := look():
            return found
        time.sleep(0.05)
    raise AssertionError("waited in vain")


class Form:
    """A form in a browser, driven by keys alone."""

    def __init__(self, driver, path, saved):
        self.driver, self.path, self.saved = driver, path, saved
        self.open()

    def open(self):
        self.driver.get(self.path.as_uri())

    def press(self, *keys):
        from selenium.webdriver.common.action_chains import ActionChains
        from selenium.webdriver.common.keys import Keys

        for key in keys:
            ActionChains(self.driver).send_keys(getattr(Keys, key, key)).perform()

    def tab_to(self, place):
        """Press Tab until the control in question has the focus."""
        for _ in range(20):
            if self.focused == place:
                return
            self.press("TAB")
        raise AssertionError(f"{place} is not reached")

    def text(self, place):
        return self.driver.find_element("id", place).text

    @property
    def focused(self):
        return self.driver.switch_to.active_element.get_attribute("id")

    @property
    def pressed(self):
        """The chosen answers of the pair in view, by question."""
        found = self.driver.find_elements("css selector", "button[aria-pressed=true]")
        return {b.get_attribute("data-question"): b.get_attribute("data-answer") for b in found}

    def save(self):
        """Press the key for saving and return the file."""
        before = set(self.saved.glob("*.csv"))
        self.press("s")
        return wait_for(lambda: set(self.saved.glob("*.csv")) - before).pop()


@pytest.fixture
def path(tmp_path, masked):
    path = tmp_path / "form.html"
    path.write_text(render_form([row for row in masked if row.annotator == "1"]), encoding="utf-8")
    return path


@pytest.fixture
def form(browser, path):
    """The first annotator's form, without an answer."""
    driver, saved = browser
    form = Form(driver, path, saved)
    # By the browser: a page's own clear() may come after what the next page stores.
    what = {"origin": "file://", "storageTypes": "local_storage"}
    driver.execute_cdp_cmd("Storage.clearDataForOrigin", what)
    form.open()
    assert form.text("progress") == "0 of 7 pairs answered"
    for name in ("browser", "performance"):
        driver.get_log(name)  # takes what earlier tests left
    return form


def test_all_pairs_are_answered_by_keyboard_saved_and_imported(form, masked, fill):
    assert form.text("place") == "Pair 1 of 7" and form.focused == "question-0"
    # Letters and digits answer the question in focus, which then moves on.
    form.press("y", "2", "n")
    assert form.pressed == {"0": "yes", "1": "no", "2": "no"}
    assert form.focused == "next"
    form.press("ENTER")
    assert form.text("place") == "Pair 2 of 7"
    # Arrows move between questions and pairs, and answer nothing.
    form.press("ARROW_DOWN", "ARROW_DOWN", "ARROW_DOWN")
    assert form.focused == "question-2"
    form.press("ARROW_UP", "y", "ARROW_LEFT")
    assert form.text("place") == "Pair 1 of 7"
    form.press("ARROW_LEFT", "ARROW_RIGHT")
    assert form.text("place") == "Pair 2 of 7" and form.pressed == {"1": "yes"}

    # In the middle the page is loaded anew: answers are there, and it goes on where it was left.
    form.open()
    assert form.text("progress") == "1 of 7 pairs answered"
    assert form.text("place") == "Pair 2 of 7" and form.pressed == {"1": "yes"}
    unfinished = form.save()
    assert unfinished.name == "annotator-1-unfinished.csv"
    assert "6 pairs are still open" in form.text("status")

    # Undoing goes back one answer at a time, also to another pair and from before the reload.
    form.press("u", "u")
    assert form.text("place") == "Pair 1 of 7" and form.pressed == {"0": "yes", "1": "no"}
    form.press("n")
    for _ in range(6):
        form.press("g", "y", "y", "n")
    assert form.text("progress") == "7 of 7 pairs answered"
    assert form.focused == "save" and "All pairs are answered" in form.text("status")
    finished = form.save()
    assert finished.name == "annotator-1-answers.csv"

    # What was saved is what was answered, whatever the texts begin with, and no cell is active,
    # wherever a spreadsheet takes one to begin.
    text = finished.read_text(encoding="utf-8-sig")
    cells = [cell for line in csv.reader(io.StringIO(text)) for cell in line]
    assert sum(cell.startswith("'") for cell in cells) == 4
    for separator in ",;\t":
        cells = [c for line in csv.reader(io.StringIO(text), delimiter=separator) for c in line]
        assert not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)
    answers = collect_answers(masked, [finished, fill("2"), fill("3")])
    own = [one for one in answers if one.annotator == "1"]
    first = next(row.id for row in masked if row.annotator == "1")
    for one in own:
        expected = [True, False, False] if one.id == first else [True, True, False]
        assert list(one.given.values()) == expected
    assert len(own) == 7 and list(own[0].given) == list(ANSWER_COLUMNS)
    with pytest.raises(DataError, match=r"unfinished\.csv: line \d, column same_intent: ''; want"):
        collect_answers(masked, [unfinished, fill("2"), fill("3")])


def test_somebody_else_starts_afresh_by_keyboard_after_a_question(form):
    form.press("y", "n", "y", "ARROW_RIGHT", "y")
    form.open()
    assert "If they are not yours, start afresh." in form.text("status")
    form.tab_to("afresh")
    form.press("ENTER")
    question = wait_for(lambda: form.driver.switch_to.alert)
    assert question.text.startswith("Delete all answers")
    question.dismiss()
    assert form.text("progress") == "1 of 7 pairs answered" and form.pressed == {"0": "yes"}

    form.tab_to("afresh")
    form.press("SPACE")
    wait_for(lambda: form.driver.switch_to.alert).accept()
    for _ in range(2):  # also when the page is loaded anew
        assert form.text("progress") == "0 of 7 pairs answered" and form.pressed == {}
        assert form.text("place") == "Pair 1 of 7" and form.focused == "question-0"
        assert not form.driver.find_element("id", "afresh").is_enabled()
        form.press("u")
        assert form.pressed == {}
        form.open()
    assert form.text("status") == ""


def test_buttons_do_by_tab_and_enter_what_keys_do_and_single_keys_can_be_switched_off(form):
    form.press("TAB", "ENTER")  # "Yes" of the first question
    assert form.pressed == {"0": "yes"} and form.focused == "question-1"
    form.press("TAB", "TAB", "SPACE")  # "No" of the second
    assert form.pressed == {"0": "yes", "1": "no"}
    form.driver.find_element("id", "keys").send_keys(" ")
    form.press("n")
    assert form.pressed == {"0": "yes", "1": "no"}
    form.press("SPACE", "y")
    assert form.pressed == {"0": "yes", "1": "no", "2": "yes"}


def test_a_key_held_down_answers_once(form):
    form.press("y")
    form.driver.execute_script(
        "for (const key of ['y', 'u'])"
        " document.dispatchEvent(new KeyboardEvent('keydown', {key, repeat: true}))"
    )
    assert form.pressed == {"0": "yes"}


def test_every_control_has_a_name_and_the_focus_is_seen(form):
    for button in form.driver.find_elements("tag name", "button"):
        assert button.accessible_name
    groups = form.driver.find_elements("tag name", "fieldset")
    assert [group.accessible_name for group in groups] == [
        *("Same intent?", "Same difficulty?", "Same compliance expectation?")
    ]
    assert {group.aria_role for group in groups} == {"group"}
    assert form.driver.find_element("id", "done").accessible_name == "Pairs answered"
    seen = set()
    for _ in range(14):
        form.press("TAB")
        style = form.driver.execute_script(
            "const style = getComputedStyle(document.activeElement);"
            "return style.outlineStyle + style.outlineWidth"
        )
        if form.driver.execute_script("return document.activeElement !== document.body"):
            seen.add(style)
    assert seen == {"solid3px"}


def test_texts_are_shown_as_they_are(form, masked):
    own = [row for row in masked if row.annotator == "1"]
    for row in own:
        left, right = row.texts
        shown = [
            form.driver.find_element("id", side).get_property("textContent")
            for side in ("left", "right")
        ]
        assert shown == [left, right]
        form.press("ARROW_RIGHT")


def test_a_browser_that_keeps_nothing_says_so_and_still_saves(start_browser, path):
    driver, saved = start_browser(NO_STORAGE)
    form = Form(driver, path, saved)
    assert "This browser does not keep your answers" in form.text("warning")
    form.press("y", "y", "y")
    assert form.text("progress") == "1 of 7 pairs answered"
    assert "yes,yes,yes" in form.save().read_text(encoding="utf-8").replace('"', "")


def test_two_windows_on_one_form_do_not_write_over_each_other(form):
    first = form.driver.current_window_handle
    form.driver.switch_to.new_window("tab")
    form.open()
    form.press("y", "n")
    form.driver.switch_to.window(first)
    wait_for(lambda: form.pressed == {"0": "yes", "1": "no"})
    form.driver.find_element("id", "question-2").click()
    form.press("y")
    form.open()
    assert form.text("progress") == "1 of 7 pairs answered"
    form.driver.switch_to.window(form.driver.window_handles[1])
    form.driver.close()
    form.driver.switch_to.window(first)


def test_nothing_is_asked_of_a_network_and_nothing_goes_wrong(form):
    form.open()
    form.press("y", "y", "y", "s", "u")
    assert form.driver.get_log("browser") == []
    asked = [
        entry["message"]
        for entry in form.driver.get_log("performance")
        if '"Network.requestWillBeSent"' in entry["message"]
    ]
    assert asked and not [message for message in asked if '"url":"http' in message]


def test_it_fits_a_narrow_window(form):
    for width in (1280, 500):
        form.driver.set_window_size(width, 800)
        wide, seen, left, right = form.driver.execute_script(
            "const box = (id) => document.getElementById(id).getBoundingClientRect();"
            "return [document.documentElement.scrollWidth, innerWidth, box('left'), box('right')]"
        )
        assert wide <= seen
        # Side by side, or one above the other.
        assert (left["y"] == right["y"]) == (width > 700)
