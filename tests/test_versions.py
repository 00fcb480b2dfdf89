"""Release numbers and specifiers: what counts of a version string, and what a requirement admits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet

from fsdplint import versions


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("2.13.0", (2, 13)),
        ("2.13.0+cpu", (2, 13)),
        ("2.2.0a0+git", (2, 2)),
        ("2.2rc1", (2, 2)),
        ("2.2.dev20240101", (2, 2)),
        ("2.10.0", (2, 10)),
        ("2", (2,)),
        ("2.0.0", (2,)),
        ("0.0", (0,)),
        ("v4.51.0", (4, 51)),
        ("1!2.3", (2, 3)),
        ("2026.10.7", (2026, 10, 7)),
        ("nightly", None),
        ("", None),
    ],
)
def test_only_the_release_part_counts(text: str, number: versions.Release | None) -> None:
    assert versions.release(text) == number


@pytest.mark.parametrize(
    ("text", "floor", "met"),
    [
        ("2.2.0a0+git", ">=2.2.0", True),  # a build of the floor has what the floor brought
        ("2.10.0", ">=2.2.0", True),  # ten is more than two
        ("2", ">=2.2.0", False),
        ("2", ">=2.0.0", True),
        ("2.1.2", ">=2.2.0", False),
        ("2.13.0+cpu", "==2.13.0", True),
        ("1.15.0", "==1.15", True),
    ],
)
def test_floors(text: str, floor: str, met: bool) -> None:
    number = versions.release(text)
    assert number is not None
    assert versions.satisfies(number, floor) is met


@pytest.mark.parametrize(
    ("specifier", "inside", "outside"),
    [
        ("", "0.1", None),
        (">=1.6,<2", "1.6.0", "2.0"),
        ("> 1.6", "1.6.1", "1.6.0"),
        ("<=1.15.0", "1.15", "1.15.1"),
        ("!=5.1.0", "5.1.1", "5.1"),
        ("===1.2.3", "1.2.3", "1.2.4"),
        ("~=2.2", "2.9", "3.0"),
        ("~=2.2.0", "2.2.9", "2.3"),
        ("==2.0.*", "2.0.1", "2.1"),
        ("==2.*", "2.9", "3"),
        ("!=4.46.*", "4.47", "4.46.3"),
        (">=2.*", "2.1", "1.9"),
    ],
)
def test_specifiers(specifier: str, inside: str, outside: str | None) -> None:
    assert versions.satisfies(versions.release(inside) or (), specifier)
    assert outside is None or not versions.satisfies(versions.release(outside) or (), specifier)


numbers = st.lists(st.integers(0, 12), min_size=2, max_size=3).map(lambda parts: ".".join(map(str, parts)))


@given(number=numbers, bound=numbers, operator=st.sampled_from(["==", "!=", ">=", "<=", ">", "<", "~="]))
def test_agrees_with_packaging_on_plain_releases(number: str, bound: str, operator: str) -> None:
    ours = versions.satisfies(versions.release(number) or (), f"{operator}{bound}")
    assert ours is SpecifierSet(f"{operator}{bound}").contains(number)


@pytest.mark.parametrize("specifier", ["1.2", "=1.2", "=>1.2", ">=nightly", ">= ", "latest"])
def test_what_is_no_specifier(specifier: str) -> None:
    with pytest.raises(ValueError, match="not a version specifier"):
        versions.clauses(specifier)


def test_exact_is_one_release_without_choice() -> None:
    assert versions.exact("==1.15.0") == (1, 15)
    assert versions.exact("===1.15.0") == (1, 15)
    assert versions.exact("==1.15.*") is None
    assert versions.exact(">=1.15.0") is None
    assert versions.exact("") is None


@pytest.mark.parametrize("specifier", [">=1,<2", ">1,<=2", "~=1.2", "==1.2.*", "==1.2"])
def test_two_sided(specifier: str) -> None:
    assert versions.is_two_sided(specifier)


@pytest.mark.parametrize("specifier", ["", ">=1", "<2", "!=1.5", ">=1,!=1.5", "!=1.5.*"])
def test_not_two_sided(specifier: str) -> None:
    assert not versions.is_two_sided(specifier)


@pytest.mark.parametrize("text", ["1.2", "v1.2", "2.2.0a0+git", "0.9.6.dev0", "1.2.post1", "1.2-1", "1!2.0", "2.13.0+cu121", "1.0rc1"])
def test_whole_versions(text: str) -> None:
    assert versions.is_version(text)


@pytest.mark.parametrize("text", ["", "nightly", "1.2 or so", "1.2,1.3", "1..2", "1.2.*", "1.2;x"])
def test_not_whole_versions(text: str) -> None:
    assert not versions.is_version(text)


@pytest.mark.parametrize(
    ("text", "specifier"),
    [(">= 2.1 , < 2.3", ">=2.1,<2.3"), ("==2.*", "==2.*"), ("~=0.22", "~=0.22"), ("==1.5.2+cu121", "==1.5.2+cu121")],
)
def test_checked_drops_blanks(text: str, specifier: str) -> None:
    assert versions.checked(text, "torch") == specifier


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("=1.2", "use torch==1.2"),
        ("1.2", "use torch==1.2"),
        ("@1.2", "use torch==1.2"),
        ("=>1.2", "unknown operator '=>', did you mean >=?"),
        ("=<1.2", "unknown operator '=<', did you mean <=?"),
        ("^1.2", "unknown operator '^', use one of == >= <= ~= != > <"),
        ("==nightly", "invalid version 'nightly'"),
        (">=2.*", "invalid version '2.*'"),
        (">=1.2,<two", "invalid version 'two'"),
        ("==", "no version after '=='"),
        (">=1,", "no version after ''"),
    ],
)
def test_checked_says_what_to_write(text: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        versions.checked(text, "torch")
    assert str(caught.value) == message


def test_how_releases_are_shown() -> None:
    assert versions.shown((2,)) == "2.0"
    assert versions.full((5, 4)) == "5.4.0"
    assert versions.full((2026, 10, 7)) == "2026.10.7"
    assert versions.full((0, 53, 8, 1)) == "0.53.8.1"


def test_names_compare_as_on_the_index() -> None:
    assert versions.canonical("LLM_Foundry") == versions.canonical("llm.-foundry") == "llm-foundry"


def test_requirements() -> None:
    assert versions.requirements("Accelerate[testing] >= 1.6.0 & torch<2.6") == (("accelerate", ">= 1.6.0"), ("torch", "<2.6"))
    assert versions.requirements("llm-foundry") == (("llm-foundry", ""),)
    with pytest.raises(ValueError, match="not a requirement: ' '"):
        versions.requirements("torch>=2 & ")


def test_holds_needs_every_package() -> None:
    at_hand = {"accelerate": (1, 6), "torch": (2, 5, 1)}
    assert versions.holds("accelerate>=1.6.0 & torch<2.6.0", at_hand)
    assert not versions.holds("accelerate>=1.6.0 & torch>=2.6.0", at_hand)
    assert not versions.holds("accelerate>=1.6.0 & trl>=0.1", at_hand)
    assert not versions.holds("trl", at_hand)


def test_is_older_looks_at_lower_bounds() -> None:
    at_hand = {"accelerate": (1, 5, 2)}
    assert versions.is_older("accelerate>=1.6.0", at_hand)
    assert versions.is_older("accelerate==1.6.0", at_hand)
    assert not versions.is_older("accelerate>=1.5.0,<=1.5.1", at_hand)
    assert not versions.is_older("accelerate<1.6.0", at_hand)
    assert not versions.is_older("torch>=2.6", at_hand)
