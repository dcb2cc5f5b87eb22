"""The one exception of the library. Codes, fields and messages: contract/errors.toml."""

from __future__ import annotations

from slm2.error_table import ERRORS, ErrorCode

__all__ = ["LONGEST_SHOWN", "ErrorCode", "Slm2Error"]

# Bits of an integer that an error still writes in digits.
LONGEST_SHOWN = 128


class Slm2Error(Exception):
    """A refusal: nothing was done, or what was done is said in the fields.

    Attributes:
        code: what went wrong, one of the codes of contract/errors.toml; stable, made to be compared.
        fields: what was expected, what came and where, under the names of the table.
    """

    def __init__(self, code: ErrorCode, /, **fields: object) -> None:
        names, message = ERRORS[code]
        if set(names) != fields.keys():
            raise TypeError(f"error {code} has the fields {names}, not {sorted(fields)}")
        fields = {name: _printable(fields[name]) for name in names}
        super().__init__(message.format(**fields))
        self.code: ErrorCode = code
        self.fields: dict[str, object] = fields

    def __reduce__(self) -> tuple[object, ...]:
        return (_restore, (self.code, self.fields))

    def to_dict(self) -> dict[str, object]:
        """The form that the command line prints: code and message, then the fields."""
        return {"code": self.code, "message": str(self), **self.fields}


def _printable(value: object) -> object:
    """A field as it is, but for an integer of so many digits that neither Python nor a reader of JSON would take it."""
    if isinstance(value, int) and value.bit_length() > LONGEST_SHOWN:
        return f"an integer of {value.bit_length()} bits"
    return value


def _restore(code: ErrorCode, fields: dict[str, object]) -> Slm2Error:
    """Rebuild a pickled error; keyword arguments cannot travel in ``__reduce__`` alone."""
    return Slm2Error(code, **fields)
