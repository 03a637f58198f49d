import pytest

from parallax.errors import ParamsError
from parallax.registry import Registry


@pytest.fixture
def registry():
    made = Registry("matcher")
    made.register("exact")(1)
    made.register("difflib")(2)
    return made


def test_entries_come_back_in_order(registry):
    assert list(registry) == ["exact", "difflib"]
    assert registry["difflib"] == 2


def test_register_returns_what_it_stores(registry):
    def match():
        pass

    assert registry.register("third")(match) is match
    assert registry["third"] is match


def test_a_double_is_refused_and_the_first_kept(registry):
    with pytest.raises(ValueError, match="matcher 'exact' is registered twice"):
        registry.register("exact")(3)
    assert registry["exact"] == 1


def test_unknown_name_lists_the_names_and_the_nearest(registry):
    with pytest.raises(ParamsError) as caught:
        registry["exakt"]
    assert str(caught.value) == (
        "unknown matcher 'exakt': choose one of exact, difflib; did you mean 'exact'?"
    )


def test_a_name_near_none_gets_no_hint(registry):
    with pytest.raises(ParamsError, match=r"choose one of exact, difflib$"):
        registry["zzz"]
