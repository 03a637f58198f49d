import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parallax.errors import DataError
from parallax.umu.splits import (
    FORGET_SUBSETS,
    RETAIN_SUBSETS,
    choose_people,
    complete_subsets,
    cut_subsets,
    find_misplaced,
    list_drawn,
    recover_order,
    shuffle_ids,
)

IDS = [str(number) for number in range(1, 501)]
ORDER = shuffle_ids(IDS, 2026, "official splits")
OFFICIAL = cut_subsets(ORDER)
RATIOS = (0.05, 0.10, 0.15)


def split(people, ratio):
    count = round(ratio * len(people))
    return people[:count], people[count:]


def test_official_sizes():
    # 5, 10 and 15 percent of 500 are 25, 50 and 75.
    sizes = {name: len(ids) for name, ids in OFFICIAL.items()}
    assert sizes == {
        "forget_5": 25,
        "retain_95": 475,
        "forget_10": 50,
        "retain_90": 450,
        "forget_15": 75,
        "retain_85": 425,
    }


def test_official_subsets_partition_and_nest():
    for forget, retain in zip(FORGET_SUBSETS, RETAIN_SUBSETS, strict=True):
        assert sorted(OFFICIAL[forget] + OFFICIAL[retain], key=int) == IDS
    assert set(OFFICIAL["forget_5"]) < set(OFFICIAL["forget_10"]) < set(OFFICIAL["forget_15"])


def test_order_depends_on_seed_and_purpose_alone():
    assert shuffle_ids(IDS[::-1], 2026, "official splits") == ORDER
    assert sorted(ORDER, key=int) == IDS
    assert shuffle_ids(IDS, 2027, "official splits") != ORDER
    assert shuffle_ids(IDS, 2026, "real people") != ORDER


def test_ten_of_twenty_people():
    order = list("abcdefghijklmnopqrst")
    # k = round(.15 * 10) = 2 (halves go to the even number); forget_15 has 3 of 20: a b c.
    assert choose_people(order, 3, 10) == list("ab" + "defghijk")
    assert choose_people(order, 3, 20) == order


def test_all_people_give_the_official_subsets():
    people = choose_people(ORDER, 75, 500)
    for ratio, forget, retain in zip(RATIOS, FORGET_SUBSETS, RETAIN_SUBSETS, strict=True):
        assert split(people, ratio) == (OFFICIAL[forget], OFFICIAL[retain])


@given(st.integers(2, 500))
def test_people_of_the_experiment_keep_their_official_role(count):
    people = choose_people(ORDER, 75, count)
    assert len(set(people)) == count
    forgotten = []
    for ratio in RATIOS:
        forget, _ = split(people, ratio)
        assert set(forgotten) <= set(forget) <= set(OFFICIAL["forget_15"])
        forgotten = forget
    _, retain = split(people, 0.15)
    assert set(retain) <= set(OFFICIAL["retain_85"])


def test_too_few_people():
    with pytest.raises(DataError, match=r"data.people = 21: .* 3 people in forget_15 and 17"):
        choose_people(list("abcdefghijklmnopqrst"), 3, 21)
    # k = round(.15 * 18) = 3 exceeds the two people of forget_15.
    with pytest.raises(DataError, match="3 and 15 are needed"):
        choose_people(list("abcdefghijklmnopqrst"), 2, 18)


def test_recovered_order_is_the_order_that_was_cut():
    assert recover_order(OFFICIAL, IDS) == ORDER


def test_recovered_order_of_files_in_another_order_cuts_alike():
    files = {name: sorted(ids) for name, ids in OFFICIAL.items()}
    again = cut_subsets(recover_order(files, IDS))
    assert {name: set(ids) for name, ids in again.items()} == {
        name: set(ids) for name, ids in OFFICIAL.items()
    }


@pytest.mark.parametrize(
    ("subset", "ids", "message"),
    [
        ("forget_10", [*OFFICIAL["forget_10"][1:], "x"], "forget_10: lacks ID"),
        ("retain_95", OFFICIAL["retain_95"] + OFFICIAL["forget_5"][:1], "which forget_5 has too"),
        ("retain_90", OFFICIAL["retain_90"][1:], "forget_10 and retain_90 together differ"),
        ("retain_85", OFFICIAL["retain_85"] + ["x"], r"differ from Full_Set in ID x \(1 such"),
    ],
)
def test_inconsistent_subsets_are_refused(subset, ids, message):
    with pytest.raises(DataError, match=message):
        recover_order({**OFFICIAL, subset: ids}, IDS)


@given(st.sets(st.sampled_from([*FORGET_SUBSETS, *RETAIN_SUBSETS])), st.integers(0, 9))
@settings(max_examples=40, deadline=None)
def test_whichever_subsets_are_missing_the_others_stay_and_all_nest(kept, seed):
    some = {name: OFFICIAL[name] for name in OFFICIAL if name in kept}
    assert list(find_misplaced(IDS, some)) == []
    whole = complete_subsets(IDS, some, seed)
    assert {name: whole[name] for name in kept} == some
    assert {name: len(ids) for name, ids in whole.items()} == {
        name: len(ids) for name, ids in OFFICIAL.items()
    }
    assert list(find_misplaced(IDS, whole)) == []


@given(st.sets(st.sampled_from([*FORGET_SUBSETS, *RETAIN_SUBSETS])), st.integers(0, 9))
@settings(max_examples=40, deadline=None)
def test_those_subsets_are_called_drawn_whose_people_the_seed_decides(kept, seed):
    some = {name: OFFICIAL[name] for name in OFFICIAL if name in kept}
    whole = complete_subsets(IDS, some, seed)
    others = [name for name in OFFICIAL if set(whole[name]) != set(OFFICIAL[name])]
    assert list_drawn(kept) == others


def test_a_missing_forget_set_is_no_larger_than_the_next_and_no_smaller_than_the_last():
    # 10 % of 500 are 50, but forget_5 has 60 people here, and forget_15 has 30 there.
    wide = {"forget_5": IDS[:60]}
    assert complete_subsets(IDS, wide, 0)["forget_10"] == IDS[:60]
    narrow = complete_subsets(IDS, {"forget_15": IDS[:30]}, 0)
    assert set(narrow["forget_10"]) == set(IDS[:30])
    assert len(narrow["forget_5"]) == 25
