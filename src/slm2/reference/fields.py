"""Reading an object of a request field by field: what is unknown, missing or of another type is refused with its path.

null counts as absent, as in Template2 (contract/template.md, M-13).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from slm2.errors import Slm2Error
from slm2.reference.json_text import json_type, shown_key

# Beyond this a host need not count the bits of an integer that came as digits.
_COUNTED = 16_384


class Fields:
    """One object of a request.

    Attributes:
        path: of the object, for errors; empty for the request itself.
    """

    def __init__(self, value: object, path: str, known: Sequence[str]) -> None:
        """Take an object.

        Raises:
            Slm2Error: ``invalid_type`` where it is none, ``unknown_field`` for its first key that is not ``known``.
        """
        if not isinstance(value, Mapping):
            raise Slm2Error("invalid_type", field=path or "request", expected="object", found=json_type(value))
        self.path = path
        self._values = {key: member for key, member in value.items() if member is not None}
        for key in self._values:
            if key not in known:
                raise Slm2Error("unknown_field", field=self.at(shown_key(key)), known=", ".join(known))

    def at(self, name: str) -> str:
        """The path of a field."""
        return f"{self.path}.{name}" if self.path else name

    def optional(self, name: str) -> object:
        """A field of any type; None where it was not given."""
        return self._values.get(name)

    def required(self, name: str) -> object:
        """A field of any type that must be there."""
        if name not in self._values:
            raise Slm2Error("missing_field", field=self.at(name))
        return self._values[name]

    def text(self, name: str) -> str:
        """A required string."""
        value = self.required(name)
        if not isinstance(value, str):
            raise Slm2Error("invalid_type", field=self.at(name), expected="string", found=json_type(value))
        return value

    def array(self, name: str) -> Sequence[object]:
        """An array; empty where the field was not given."""
        value = self._values.get(name, ())
        if not isinstance(value, list | tuple):
            raise Slm2Error("invalid_type", field=self.at(name), expected="array", found=json_type(value))
        return value

    def flag(self, name: str, default: bool) -> bool:
        """A boolean; ``default`` where the field was not given."""
        value = self._values.get(name, default)
        if not isinstance(value, bool):
            raise Slm2Error("invalid_type", field=self.at(name), expected="boolean", found=json_type(value))
        return value

    def integer(self, name: str, low: int, high: int) -> int:
        """A required whole number from ``low`` to ``high``, both included; 5.0 is none."""
        value = self.required(name)
        if isinstance(value, bool) or not isinstance(value, int):
            raise Slm2Error("invalid_type", field=self.at(name), expected="integer", found=json_type(value))
        if not low <= value <= high:
            raise Slm2Error("invalid_value", field=self.at(name), expected=f"an integer from {low} to {high}", found=_digits(value))
        return int(value)

    def number(self, name: str) -> float:
        """A required number, as the float64 that it rounds to, which must be finite."""
        value = self.required(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise Slm2Error("invalid_type", field=self.at(name), expected="number", found=json_type(value))
        try:
            rounded = float(value)
        except OverflowError:
            rounded = math.inf
        if not math.isfinite(rounded):
            raise Slm2Error("invalid_value", field=self.at(name), expected="a finite float64", found=_digits(value))
        return rounded


def _digits(value: float) -> str:
    """A number in an error; of a long integer its size alone, since a host may refuse to print it."""
    if isinstance(value, int) and value.bit_length() > 64:
        bits = value.bit_length()
        return f"an integer of {bits} bits" if bits <= _COUNTED else f"an integer of more than {_COUNTED} bits"
    return str(value)
