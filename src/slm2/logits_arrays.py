"""What callers hand over for a step: a row of logits and a mask of allowed ids, in the forms that arrays of several libraries have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from slm2.errors import Slm2Error

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Row = npt.NDArray[np.float32]

__all__ = ["kind_of", "mask_of", "row_of", "widen"]


def widen(bits: Any, dtype: Literal["float16", "bfloat16"]) -> Row:  # noqa: ANN401
    """The float32 values of an array of 16-bit patterns; exact.

    Args:
        bits: array of uint16, as ``tensor.view(torch.uint16).numpy()`` gives it.
        dtype: what the patterns are.

    Raises:
        Slm2Error: ``invalid_type``, ``invalid_value``.
    """
    import numpy as np  # noqa: PLC0415

    if not isinstance(bits, np.ndarray) or bits.dtype != np.uint16:
        raise Slm2Error("invalid_type", field="bits", expected="a numpy.ndarray of uint16", found=kind_of(bits))
    if dtype == "float16":
        return bits.view(np.float16).astype(np.float32)
    if dtype != "bfloat16":
        raise Slm2Error("invalid_value", field="dtype", expected="float16 or bfloat16", found=repr(dtype))
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def row_of(logits: Any) -> Row:  # noqa: ANN401
    """A contiguous, aligned float32 array in the machine's order: the caller's own where it is one."""
    import numpy as np  # noqa: PLC0415

    if type(logits) is np.ndarray and logits.dtype == np.float32 and logits.ndim == 1 and logits.flags.forc and logits.flags.aligned:
        return logits
    if not isinstance(logits, np.ndarray) or logits.ndim != 1:
        raise Slm2Error("invalid_type", field="logits", expected="a one-dimensional numpy.ndarray", found=kind_of(logits))
    if logits.dtype.name == "bfloat16":  # of ml_dtypes, which NumPy knows by this name alone
        return widen(np.ascontiguousarray(logits).view(np.uint16), "bfloat16")
    if logits.dtype.kind != "f" or logits.dtype.itemsize > 4:
        raise Slm2Error(
            "invalid_type", field="logits", expected="float32, or float16 or bfloat16, which are widened", found=kind_of(logits)
        )
    return np.require(np.array(logits, np.float32), requirements=["C", "A"])


def mask_of(allowed: Any, width: int) -> bytes:  # noqa: ANN401
    """A bit for each id."""
    import numpy as np  # noqa: PLC0415

    if isinstance(allowed, bytearray | memoryview):
        return bytes(allowed)
    if isinstance(allowed, np.ndarray) and allowed.ndim == 1 and allowed.dtype == np.bool_:
        if allowed.size != width:
            raise Slm2Error("allowed_length", found=(allowed.size + 7) // 8, expected=(width + 7) // 8)
        return np.packbits(allowed, bitorder="little").tobytes()
    if isinstance(allowed, np.ndarray) and allowed.ndim == 1 and allowed.dtype in (np.int32, np.uint32):
        words, expected = allowed.astype("<u4").tobytes(), (width + 31) // 32 * 4
        if len(words) != expected:
            raise Slm2Error("allowed_length", found=len(words), expected=expected)
        return words[: (width + 7) // 8]
    expected_kind = "bytes, or a one-dimensional array of bool, int32 or uint32"
    raise Slm2Error("invalid_type", field="allowed", expected=expected_kind, found=kind_of(allowed))


def kind_of(value: Any) -> str:  # noqa: ANN401
    """A type for an error, of an array with dtype and dimensions."""
    if hasattr(value, "dtype") and hasattr(value, "ndim"):
        return f"{type(value).__name__} of {value.dtype} with {value.ndim} dimensions"
    return type(value).__name__
