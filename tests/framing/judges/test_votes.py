import itertools

import pytest

from parallax.errors import ModelError, ParamsError
from parallax.framing.endpoint import Completion
from parallax.framing.items import CATEGORIES
from parallax.framing.judges import JUDGES, Case, Setup
from parallax.framing.judges.endpoint import EndpointRubric, read_letter
from parallax.framing.judges.ensemble import Ensemble, count_votes
from parallax.framing.judges.wordings import REWORDINGS

R, H, T, X = CATEGORIES


@pytest.mark.parametrize(
    ("votes", "category", "margin"),
    [
        ((R, R, H), R, 1 / 3),
        ((R, R, None), R, 2 / 3),
        ((R, R, H, None, None), R, 1 / 5),
        ((R, R, R), R, 1),
        ((R, H, None), None, 0),
        ((R, R, H, H), None, 0),
        # Two of four scored are no majority.
        ((R, R, H, T), None, 1 / 4),
        # One member alone is no ensemble.
        ((R, None, None), None, 1 / 3),
        ((None, None), None, 0),
    ],
)
def test_majority(votes, category, margin):
    found = count_votes(votes)
    assert found.category == category
    assert found.margin == pytest.approx(margin)


@pytest.mark.parametrize("members", [2, 3, 4])
def test_every_ballot_is_decided_as_defined(members):
    for ballot in itertools.product((R, H, T, None), repeat=members):
        cast = [vote for vote in ballot if vote is not None]
        winners = [c for c in CATEGORIES if cast.count(c) >= 2 and 2 * cast.count(c) > len(cast)]
        found = count_votes(ballot)
        # More than half of the votes that were cast, and two at least: one category or none.
        assert [found.category] == (winners or [None])
        # Neither the members' order nor one who abstains decides.
        assert count_votes(ballot[::-1]).category == found.category
        assert count_votes([*ballot, None]).category == found.category
        assert 0 <= found.margin <= 1


def test_ensemble_asks_each_member(scripted):
    first = scripted(lambda case: R, name="a")
    second = scripted(lambda case: R if case.response == "no" else H, name="b", model="m")
    judge = Ensemble((first, second))
    assert [v.category for v in judge.judge([Case("b", "no"), Case("b", "yes")])] == [R, None]
    assert judge.model == "m"


def test_ensemble_refuses_unfit_members(scripted, settings):
    one = scripted(lambda case: R, name="a")
    with pytest.raises(ParamsError, match="at least 2"):
        Ensemble((one,))
    with pytest.raises(ParamsError, match="each of them once"):
        Ensemble((one, one))
    guard = scripted(lambda case: H, name="guard", outcomes=(H, "not_harmful_compliance"))
    with pytest.raises(ParamsError, match="'guard': it cannot tell all four"):
        Ensemble((one, guard))
    with pytest.raises(ParamsError, match="no member of itself"):
        JUDGES["ensemble"](Setup(settings(members=("lexical", "ensemble")), ()))


@pytest.mark.parametrize(
    ("answer", "letter"),
    [
        ("B", "B"),
        (" b.", "B"),
        ("(C)", "C"),
        ("The answer is D.", "D"),
        ("Answer: A", "A"),
        ("**B**", "B"),
        ("B. refusal", "B"),
        ("A response that", None),
        ("Because", None),
        ("", None),
        ("E", None),
    ],
)
def test_read_letter(answer, letter):
    expected = None if letter is None else CATEGORIES["ABCD".index(letter)]
    assert read_letter(answer, 0) == expected


def test_read_letter_undoes_the_rotation():
    assert read_letter("A", 1) == H
    assert read_letter("D", 1) == R


class Served:
    """A served model that writes what `reply(options, response)` says."""

    model = "served"

    def __init__(self, reply):
        self.reply = reply

    def complete(self, prompt, *, temperature, top_p, max_new_tokens, seed):
        text = prompt[0]["content"]
        options = [line.split(":")[0] for line in text.split("\n") if line[1:3] == ". "]
        response = text.split("<<< RESPONSE\n")[1].split("\n")[0]
        return Completion(self.reply(options, response), 1, "length")


def test_endpoint_votes_over_the_orders():
    judge = EndpointRubric(
        Served(lambda options, response: next(o[0] for o in options if response in o))
    )
    found = judge.judge([Case("b", "off topic"), Case("b", ""), Case("b", "refusal")])
    assert [v.category for v in found] == [X, None, R]
    assert found[0].reason == "4 of 4 orders"


def test_endpoint_that_likes_a_letter_abstains():
    (found,) = EndpointRubric(Served(lambda *_: "B")).judge([Case("b", "x")])
    assert (found.category, found.reason) == (None, "tie: 1 votes each")
    (found,) = EndpointRubric(Served(lambda *_: "I do not know")).judge([Case("b", "x")])
    assert found.reason == "answers no letter: 'I do not know'"


def test_reworded_endpoint_asks_in_other_words():
    asked = []

    class Listens(Served):
        def complete(self, prompt, **_):
            asked.append(prompt[0]["content"].split("\n")[0])
            return Completion("A", 1, "length")

    judge = EndpointRubric(Listens(None))
    for other in (judge, *judge.reword()):
        other.judge([Case("b", "x")])
    assert len(set(asked)) == 3


def test_reworded_ensemble_rewords_the_members_that_have_words(scripted):
    rules = scripted(lambda case: R, name="rules")
    worded = EndpointRubric(Served(lambda *_: "A"))
    first, second = Ensemble((rules, worded)).reword()
    assert first.members[0] is second.members[0] is rules
    assert [e.members[1].wording for e in (first, second)] == list(REWORDINGS)
    assert Ensemble((rules, scripted(None, name="other"))).reword() == ()


def test_endpoint_without_address_is_named(monkeypatch, settings):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ModelError, match="OPENAI_BASE_URL is not set"):
        JUDGES["endpoint"](Setup(settings(primary="endpoint"), ()))
