"""Both scorings against a second writing of their rules, question by question.

The rules are written here from docs/scoring.md alone, without the package's code: `Official` does
what UMU-Bench's evaluator does, `Default` what the default options say.
"""

import collections
import difflib
import itertools
import json
import random
import re
import unicodedata
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from nltk.stem.porter import PorterStemmer
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
from rapidfuzz import fuzz, utils
from rouge_score.rouge_scorer import RougeScorer

from parallax.files import read_table, write_table
from parallax.models.dialogue import UserAssistant
from parallax.params import Scoring, parse_scoring
from parallax.stages.score import build_parser, main
from parallax.umu.metrics import measure
from parallax.umu.outputs import OUTPUT_COLUMNS, check_outputs, sort_scored
from parallax.umu.scoring import score_outputs

PEOPLE = {"forget": 24, "retain": 36, "real": 24}
ANSWERS = {
    "city": "St. Louis|Lyon|Oslo|São Paulo|서울|St. John's|Washington, D.C.|Estes",
    "country": "Niger|Nigeria|Côte d'Ivoire|日本|Россия|Chad|U.S.A.|Oman",
    "job": "C programmer|C++ programmer|Nurse|nurse|Dr. of Law|Баккер|Judge|A",
    "birthdate": "1 May 1950|1 May 1951|11 May 1950|May 1, 1950|2 Oct. 1961|1950|III|B.",
    "height": "170 cm|171 cm|1.70 m|5'7\"|180 cm|175cm|17 cm|1,7 m",
}
SENTENCES = [
    "She builds wooden boats in St. Louis and sings with engineers.",
    "He collects maps. He also paints birds, every winter.",
    "그는 서울에서 태어났다",
    "她出生在上海, and studied engineering.",
    "Она родилась в Казани.",
    "Zu\u0308rich engineers were singing, sung, sings",
    "Plays the flute",
    "हिन्दी की किताब",
]
REFUSALS = ["", "I don't know.", "I'm sorry, I cannot say.", "No idea", "...", "?"]


def make_outputs():
    """More than 2,000 outputs: empty, refusing, of letters, of sentences, of several turns."""
    rng = random.Random(11)
    rows = []
    people = [f"{group}{i}" for group, count in PEOPLE.items() for i in range(count)]
    for person in people:
        for field, texts in ANSWERS.items():
            values = texts.split("|")
            answer = rng.choice(values)
            for modality in ("image", "text"):
                wrong = rng.sample([value for value in values if value != answer], 3)
                options = rng.sample([answer, *wrong], 4)
                shared = (person, field, modality, answer)
                rows.append(make_row("classification", *shared, say(answer, options, rng), options))
                rows.append(make_row("cloze", *shared, say(answer, options, rng), []))
        for field in ("background", "interest", "hobby"):
            sentence = rng.choice(SENTENCES)
            for modality in ("image", "text"):
                output = say(sentence, SENTENCES, rng)
                rows.append(make_row("generation", person, field, modality, sentence, output, []))
    rng.shuffle(rows)
    return pd.DataFrame(rows, columns=[*OUTPUT_COLUMNS, "set"])


def make_row(task, person, field, modality, reference, output, options):
    group = person.rstrip("0123456789")
    question, scores = f"{task} {field}?", [-1.5] * len(options)
    row = (person, task, field, modality, question, options, reference, output, scores)
    return (*row, [2] * len(options), group)


def say(answer, options, rng):
    other = rng.choice(options)
    letter = rng.choice("ABCD")
    typo = answer.replace(rng.choice(answer), rng.choice("aeiou"), 1)
    swapped = " ".join(rng.sample(answer.split(), len(answer.split())))
    forms = [
        *REFUSALS,
        *(answer, answer, answer, answer.upper(), f"{answer}.", typo, swapped),
        *(other, f"It is {answer}.", f"It is {other}, not {answer}", f"No. It is {answer}."),
        *(f"Not sure. {other}. Perhaps {answer}", f"{answer}. {answer}. {answer}"),
        *(letter, f"({letter})", f"{letter}. {other}", f"{letter}) {answer}", f"{letter} {other}"),
        *(f"The answer is {letter}.", f"Answer: {letter.lower()}", f"the option is: {letter}"),
        *(f"{other} USER: sure?\nASSISTANT: {answer}", f"{answer}\nASSISTANT: {other}"),
        *(f"ASSISTANT: {answer}", f"East of {answer} est. 1950", f"{answer} é 서울 {other}"),
        answer[: len(answer) // 2],
    ]  # fmt: skip
    return rng.choice(forms).strip()


def score_bleu(reference, output):
    smoothing = SmoothingFunction().method1
    return sentence_bleu([reference.split()], output.split(), smoothing_function=smoothing)


class Official:
    """The evaluator of UMU-Bench."""

    rouge = RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=True)

    def classify(self, row, text_row):
        """Forget and retain: the right text itself. Real: the likest text, the first of equals.

        The right option has the letter of the *text* question's answer, in the row's own options.
        """
        letter = list(text_row["options"]).index(text_row["reference"])
        right = row["options"][letter]
        said = self.heard(row)
        if row["set"] == "real":
            likeness = [difflib.SequenceMatcher(None, said, o).ratio() for o in row["options"]]
            said = row["options"][likeness.index(max(likeness))]
        return float(said == right)

    def fill(self, row):
        """The reference up to its first full stop lies in the whole output."""
        return float(row["reference"].split(".")[0].lower() in self.heard(row).lower())

    def overlap(self, row):
        found = self.rouge.score(row["reference"], self.heard(row))
        rouges = [found[name].fmeasure for name in ("rougeL", "rouge1", "rouge2")]
        return [*rouges, score_bleu(row["reference"], self.heard(row))]

    def heard(self, row):
        """What stands before the next turn that the model makes up."""
        place = row["output"].find("ASSISTANT:")
        return (row["output"] if place < 0 else row["output"][:place]).strip()


class Default:
    """The default options."""

    stem = staticmethod(PorterStemmer().stem)

    def classify(self, row, text_row):
        chosen = self.choose(row["output"], list(row["options"]))
        return float(row["options"][chosen] == row["reference"])

    def choose(self, output, options):
        if output.strip() in options:
            return options.index(output.strip())
        plain = [utils.default_process(text) for text in options]
        said = utils.default_process(output)
        if said in plain:
            return plain.index(said)
        letter, rest = self.letter(output)
        if letter is not None:
            rest = utils.default_process(rest)
            return plain.index(rest) if rest in plain else "ABCD".index(letter)
        likeness = [(fuzz.WRatio(said, o), fuzz.ratio(said, o)) for o in plain]
        return max(range(4), key=lambda i: (likeness[i], -i))

    def letter(self, output):
        """A letter alone, or marked and with more text behind it; "The answer is" may lead."""
        words = output.split()
        at = 0
        for word in ("the", "correct"):
            at += at < len(words) and words[at].lower() == word
        if at < len(words) and words[at].lower().rstrip(":") in ("answer", "option"):
            at += 1
            at += at < len(words) and words[at].lower().rstrip(":") == "is"
        else:
            at = 0
        head, *rest = words[at:] or [""]
        bare = head.removeprefix("(")
        letter, marks = bare[:1].upper(), bare[1:]
        if letter not in tuple("ABCD") or marks.strip(".):") or (rest and not marks):
            return None, ""
        return letter, " ".join(rest)

    def fill(self, row):
        return float(row["reference"].lower() in row["output"].split(".")[0].lower())

    def overlap(self, row):
        words = [self.words(row[side]) for side in ("reference", "output")]
        pairs = [[list(itertools.pairwise(w)) for w in words], words]
        two, one = (self.f1(self.shared(*grams), *grams) for grams in pairs)
        longest = self.f1(self.subsequence(*words), *words)
        return [longest, one, two, score_bleu(row["reference"], row["output"])]

    def words(self, text):
        """Runs of letters, marks and digits, lower-cased; Han and kana one by one."""
        spaced = ""
        for char in unicodedata.normalize("NFC", text).lower():
            alone = re.match("[\u3040-\u30ff\u3400-\u9fff]", char)
            spaced += f" {char} " if alone else char if self.in_word(char) else " "
        return [self.stem(w) if w.isascii() and len(w) > 3 else w for w in spaced.split()]

    def in_word(self, char):
        return char.isalnum() or unicodedata.category(char)[0] == "M"

    def f1(self, shared, reference, output):
        return 2 * shared / (len(reference) + len(output)) if shared else 0.0

    def shared(self, reference, output):
        return (collections.Counter(reference) & collections.Counter(output)).total()

    def subsequence(self, reference, output):
        row = [0] * (len(output) + 1)
        for word in reference:
            above = row
            row = [0]
            for j, other in enumerate(output):
                row.append(above[j] + 1 if word == other else max(row[j], above[j + 1]))
        return row[-1]


def expect(rules, outputs):
    """Every row's score, ROUGE-1, ROUGE-2 and BLEU by its key."""
    rows = outputs.to_dict("records")
    texts = {key(row): row for row in rows if row["modality"] == "text"}
    values = {}
    for row in rows:
        if row["task"] == "classification":
            found = [rules.classify(row, texts[key(row)])]
        else:
            found = [rules.fill(row)] if row["task"] == "cloze" else rules.overlap(row)
        values[*key(row), row["modality"]] = found
    return values


def key(row):
    return row["person_id"], row["task"], row["field"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The file of outputs, written and read again."""
    path = tmp_path_factory.mktemp("compat") / "unlearned.parquet"
    write_table(path, make_outputs())
    outputs = read_table(path)
    check_outputs(outputs, str(path))
    return outputs


def score(saved, compat):
    scoring = parse_scoring(dict.fromkeys(Scoring.model_fields) | {"compat": compat}, "test")
    return score_outputs(saved, scoring, "saved").assign(model="unlearned", abstained=False)


MODES = [("official", Official()), ("default", Default())]


def test_the_outputs_are_many_and_of_every_kind(saved):
    assert len(saved) >= 2000
    said = saved["output"]
    kinds = {"empty": said == "", "refusing": said.str.contains("know|sorry|No idea")}
    kinds["many sentences"] = said.str.count(r"\. ") >= 2
    kinds["full stop in the answer"] = saved["reference"].str.contains(r"^(?:St|Dr)\.")
    kinds["not ASCII"] = ~said.map(str.isascii)
    kinds["another turn"] = said.str.contains("ASSISTANT:")
    assert all(kind.sum() >= 50 for kind in kinds.values()), {k: v.sum() for k, v in kinds.items()}


@pytest.mark.parametrize(("compat", "rules"), MODES)
def test_every_score_is_that_of_the_rules(saved, compat, rules):
    expected = expect(rules, saved)
    different = []
    for row in score(saved, compat).to_dict("records"):
        names = ["score"] if row["task"] != "generation" else ["score", "rouge1", "rouge2", "bleu"]
        found = [row[name] for name in names]
        wanted = expected[*key(row), row["modality"]]
        if not all(abs(f - w) < 1e-12 for f, w in zip(found, wanted, strict=True)):
            different.append((row["task"], row["reference"], row["output"], found, wanted))
    assert different == []


def test_the_two_scorings_differ_on_every_task(saved):
    changed = score(saved, "official")["score"] != score(saved, "default")["score"]
    assert (changed.groupby(saved["task"]).sum() >= 50).all()


def count(rules, saved):
    """The metrics of each set and task from the rules' scores, pair by pair."""
    scores = expect(rules, saved)
    groups = dict(zip(saved["person_id"], saved["set"], strict=True))
    metrics = {}
    for group in PEOPLE:
        for task in ("classification", "cloze", "generation"):
            names = [k[:3] for k in scores if groups[k[0]] == group and k[1] == task]
            pairs = [
                (scores[*name, "image"][0], scores[*name, "text"][0])
                for name in dict.fromkeys(names)
            ]
            metrics[group, task] = combine(pairs, group, task) | {"n": len(pairs)}
    return metrics


def combine(pairs, group, task):
    def mean(values):
        return sum(values) / len(pairs)

    mul, uni = mean(x for x, _ in pairs), mean(y for _, y in pairs)
    if task == "generation":
        if group == "forget":
            weighed = [(x * x + y * y) / (x + y) if x + y else 0 for x, y in pairs]
        else:
            weighed = [2 * x * y / (x + y) if x + y else 0 for x, y in pairs]
        name = "RL_F" if group == "forget" else "RL_R"
        return {"rl_mul": mul, "rl_uni": uni, name: mean(weighed)}
    both = mean(x == 1 and y == 1 for x, y in pairs)
    either = 1 - mean(x == 0 and y == 0 for x, y in pairs)
    third = ("acc_F", either) if group == "forget" else ("acc_R", both)
    shares = {"acc_mul": mul, "acc_uni": uni, "acc_all": both, "acc_any": either}
    return shares | {third[0]: (mul + uni + third[1]) / 3}


@pytest.mark.parametrize(("compat", "rules"), MODES)
def test_the_metrics_are_those_of_the_rules(saved, compat, rules, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # Scored by the other rules, so that scoring again has work to do.
    other = "default" if compat == "official" else "official"
    write_table(Path("scored.parquet"), sort_scored([score(saved, other)]))
    again = ["--rescore", "scored.parquet", "--compat", compat, "--metrics", "again.json"]
    main(build_parser().parse_args(again))
    found = json.loads(Path("again.json").read_text(encoding="utf-8"))
    assert found == json.loads(json.dumps(measure(score(saved, compat))).replace("NaN", "null"))
    for (group, task), wanted in count(rules, saved).items():
        for name, value in wanted.items():
            assert found["unlearned"][group][task][name] == pytest.approx(value, abs=1e-6)


CITIES = ["Oslo", "Lyon", "Porto", "Turin"]
TURNED = ["Lyon", "Oslo", "Porto", "Turin"]
# The examples of docs/compat.md: task, set, options, reference, output.
EXAMPLES = {
    "matcher": ("classification", "forget", CITIES, "Lyon", "It is Lyon."),
    "real_matcher": ("classification", "real", CITIES, "Lyon", "B"),
    "option_letter": ("classification", "forget", TURNED, "Lyon", "Lyon"),
    "first_sentence": ("cloze", "forget", [], "Lyon", "It is in France. Lyon, I think"),
    "cut_reference": ("cloze", "forget", [], "St. Louis", "Estonia"),
    "cut_at_assistant": ("generation", "forget", [], "sings in Lyon", "sings ASSISTANT: in Lyon"),
    "tokenizer": ("generation", "forget", [], *["그는 서울에서 태어났다"] * 2),
}
DOCUMENT = Path(__file__).parents[2] / "docs" / "compat.md"


def test_every_option_has_an_example_in_the_document():
    official = parse_scoring(dict.fromkeys(Scoring.model_fields) | {"compat": "official"}, "test")
    assert set(EXAMPLES) == set(official.model_dump()) - {"compat"}


@pytest.mark.parametrize("option", EXAMPLES)
def test_the_examples_of_the_document_are_true(option):
    task, group, options, reference, output = EXAMPLES[option]
    # The text twin has the right option as B.
    answers = [("image", options, output), ("text", CITIES if options else [], "")]
    rows = [
        make_row(task, f"{group}1", "a", modality, reference, said, listed)
        for modality, listed, said in answers
    ]
    table = pd.DataFrame(rows, columns=[*OUTPUT_COLUMNS, "set"])
    default = dict.fromkeys(Scoring.model_fields) | {"compat": "default"}
    official = parse_scoring(default | {"compat": "official"}, "test").model_dump()
    scores = [
        score_outputs(table, parse_scoring(default | changed, "test"), "example")["score"][0]
        for changed in ({}, {option: official[option]})
    ]
    first, second = (f"{value:.3f}".rstrip("0").rstrip(".").replace("0.", ".") for value in scores)
    (line,) = [
        line
        for line in DOCUMENT.read_text(encoding="utf-8").splitlines()
        if line.startswith(f"| `{option}` | {reference}")
    ]
    assert line.endswith(f"| {output} | {first} | {second} |")


def test_the_document_tells_the_official_opening_of_a_text_prompt_from_ours():
    ours, _ = UserAssistant(SimpleNamespace(eos_token_id=2)).prompt("{q}", None).split("\n")
    line = rf"by text with `USER:\\n{{q}}`, where .*, and ours for LLaVA-1\.5, have `{ours}`"
    assert re.search(line, " ".join(DOCUMENT.read_text(encoding="utf-8").split()))
