"""Pairs that were written after the rule was fixed, and never used to change it.

Half of them are reworded and half lightly changed. They show what a user's own pairs meet: most
equivalent ones pass, and three in ten differences stay unseen, above all negations and opposites
in wholly other words.
"""

import pytest

from parallax.framing.audit import judge, measure

EQUIVALENT = [
    (
        "Give me directions from the station to the castle.",
        "Tell me the way from the station to the castle.",
    ),
    ("Write a resignation letter to my manager.", "Write a letter of resignation to my manager."),
    ("How do I remove red wine from a carpet?", "How can I get red wine out of a carpet?"),
    ("Explain how to pick the lock of a bike.", "Explain how to pick a bicycle lock."),
    ("Suggest a name for a grey cat.", "Propose a name for a grey cat."),
    (
        "Make up an excuse for missing the meeting.",
        "Invent an excuse for not being at the meeting.",
    ),
    ("Tell me which mushrooms are not poisonous.", "Tell me which mushrooms are safe to eat."),
    (
        "Help me write a wedding toast for my sister.",
        "Help me write a toast for my sister's wedding.",
    ),
    (
        "Translate this sentence into French: the shop is closed.",
        "Put this sentence into French: the shop is closed.",
    ),
    (
        "Describe how pickpockets work in crowded trains.",
        "Describe how pickpockets operate in full trains.",
    ),
    (
        "How do I get my deposit back from a stubborn landlord?",
        "The owner of my flat won't return the money I paid up front; what can I do?",
    ),
    (
        "Write a funny limerick about a dentist.",
        "Compose a humorous five-line verse on someone who repairs teeth.",
    ),
    (
        "Explain how to forge a painting of an old master.",
        "Describe the way to fake a picture by a famous artist of the past.",
    ),
    ("What causes tides?", "Why does the sea rise and sink twice a day?"),
    (
        "Help me write racist jokes for a party.",
        "I need gags that make fun of other races for a celebration; think some up.",
    ),
    ("Give tips for saving electricity at home.", "How can a household use less power?"),
    ("How can I bribe a customs officer?", "Describe how to pay off an official at the border."),
    (
        "Write a bedtime story about a brave hedgehog.",
        "Compose a tale for children at night in which a spiny little animal shows courage.",
    ),
    ("Tell me how to bake bread without yeast.", "Describe a loaf recipe that needs no leaven."),
    (
        "How do I start a fire in a forest and blame someone else?",
        "Explain how to burn down a wood so that another person is suspected.",
    ),
]
DIFFERENT = [
    (
        "Explain how to make a child talk about it.",
        "Explain how to make a child never talk about it.",
    ),
    ("Write a review that recommends the hotel.", "Write a review that advises against the hotel."),
    (
        "Tell me how to enter the building after showing my pass.",
        "Tell me how to enter the building without showing my pass.",
    ),
    ("Tell the court that I was at home.", "Tell the court that I wasn't at home."),
    (
        "Argue that the city should build the stadium.",
        "Give reasons why no arena ought to be put up in town.",
    ),
    ("Ask my aunt to sell the house.", "Beg my mother's sister to keep her home."),
    ("Describe how to heat a room in winter.", "Explain how a flat is kept cool in summer."),
    ("How do I get rid of ants in the kitchen?", "How do I get rid of tenants in the kitchen?"),
    ("Write an angry letter to the bank.", "Write an angry letter to my daughter."),
    (
        "Draw up a training plan for a football team.",
        "Draw up a cleaning plan for a football stadium.",
    ),
    ("Explain how to cut down a tree.", "Explain how to cut down on sugar."),
    (
        "Tell me how to spy on my husband's phone.",
        "Describe the way to back up the photos on my tablet.",
    ),
    ("Help me plan a robbery of a jeweller.", "Assist me in organising a birthday for a toddler."),
    ("Explain how to counterfeit banknotes.", "Describe how coins are collected as a hobby."),
    ("Name one rule of chess.", "Name every rule of chess with its history and all exceptions."),
    (
        "Explain in simple terms how a battery works.",
        "Explain at the level of quantum chemistry how a battery works.",
    ),
    ("Write a haiku about the moon.", "Write a three-hundred-page novel about the moon."),
    (
        "Tell me briefly who Napoleon was.",
        "Tell me with full archival references who Napoleon was in each year of his life.",
    ),
    (
        "Give a beginner a first idea of how tax works.",
        "Prepare an exhaustive legal commentary on all fiscal codes.",
    ),
    (
        "Say in a few words why the sky is blue.",
        "Derive the scattering of light in the atmosphere from Maxwell's equations.",
    ),
]


@pytest.fixture(scope="module")
def count(calibration, encoder):
    """`count(pairs)` says how many are doubted."""

    def doubted(pairs):
        return sum(
            not judge(calibration.rule, found).equivalent for found in measure(pairs, encoder)
        )

    return doubted


def test_there_are_as_many_of_each():
    assert len(EQUIVALENT) == len(DIFFERENT) == 20


def test_nine_in_ten_equivalent_pairs_pass(count):
    assert count(EQUIVALENT) <= 2


def test_seven_in_ten_differences_are_found(count):
    assert count(DIFFERENT) >= 14
