"""Is this JSON object what it should be? Reads one key by key and keeps a list of what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateway.script.rules import LARGEST

if TYPE_CHECKING:
    from collections.abc import Callable


class Table:
    """A JSON object that is read key by key; what is wrong with it goes to a list."""

    def __init__(self, value: object, place: str, problems: list[str], keys: tuple[str, ...]) -> None:
        self.place = place
        self.problems = problems
        self._values: dict[str, Any] = {}
        if not isinstance(value, dict):
            self.complain("", "must be an object")
            return
        for key in value:
            if key not in keys:
                self.complain(str(key), "unknown key")
        self._values = {key: value[key] for key in keys if value.get(key) is not None}

    def complain(self, key: str, message: str) -> None:
        self.problems.append(f"{self.place}{'.' if key and self.place else ''}{key} {message}")

    def has(self, key: str) -> bool:
        return key in self._values

    def raw(self, key: str) -> Any:
        return self._values.get(key)

    def table(self, key: str) -> Any:
        """The value, or an empty object when it is absent."""
        return self._values.get(key, {})

    def where(self, key: str) -> str:
        return f"{self.place}.{key}"

    def checked(self, key: str, check: Callable[[object], bool], must: str) -> Any:
        """The value, or None when it is absent or wrong."""
        value = self._values.get(key)
        if value is None or check(value):
            return value
        self.complain(key, f"must be {must}")
        return None

    def text(self, key: str) -> str | None:
        value: str | None = self.checked(key, lambda value: isinstance(value, str), "text")
        return value

    def truth(self, key: str) -> bool | None:
        value: bool | None = self.checked(key, lambda value: isinstance(value, bool), "true or false")
        return value

    def count(self, key: str, least: int = 0, most: int = LARGEST) -> int | None:
        def is_count(value: object) -> bool:
            return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most

        value: int | None = self.checked(key, is_count, f"a whole number from {least} to {most}")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        def are_texts(value: object) -> bool:
            return isinstance(value, list) and all(isinstance(item, str) for item in value)

        return tuple(self.checked(key, are_texts, "a list of texts") or ())

    def choice(self, key: str, choices: tuple[str, ...]) -> str | None:
        value: str | None = self.checked(key, lambda value: value in choices, f"one of: {', '.join(choices)}")
        return value
