"""Words in messages: `an int`, `a str`, `1 guard`, `2 guards`."""

from typing import Final

_NOT_SPOKEN_AS_VOWELS: Final = ("uni", "use", "one", "eu")


def a_type(cls: type) -> str:
    """The name of a type with its article; no code of its metaclass runs."""
    return with_article(type.__getattribute__(cls, "__name__"))


def with_article(word: str) -> str:
    """`an int`, `a str`."""
    lower = word.lower()
    is_vowel = lower[:1] in ("a", "e", "i", "o", "u") and not lower.startswith(_NOT_SPOKEN_AS_VOWELS)
    return f"{'an' if is_vowel else 'a'} {word}"


def write_count(number: int, noun: str) -> str:
    """`1 graph break`, `2 graph breaks`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
