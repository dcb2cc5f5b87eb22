"""Tokenizer2's face: text to ids and back. It checks types and calls the engine; it computes nothing."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from os import PathLike, fsdecode
from typing import TYPE_CHECKING, Literal

from slm2.artifact import Profile
from slm2.engine import Engine, OfOneProcess, SpecialPolicy, Unit, check_special, integer_id, integer_ids, packed_ids, shown_integer
from slm2.errors import Slm2Error
from slm2.files import EncodedFile, encode_files
from slm2.incremental import ChunkEncoder, EncodedText
from slm2.text import Text, to_bytes

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray
    from typing_extensions import Buffer

__all__ = ["Finding", "OnSpecial", "Tokenizer", "tokenizer_of"]

OnSpecial = Literal["literal", "reject"]

# No text has more ids than that; the engine counts in words of the machine.
_MOST_IDS = 2**62
_MOST_THREADS = 256
_ID_SIZE = 4


@dataclass(frozen=True, slots=True)
class Finding:
    """The text of a special token inside a caller's text.

    Attributes:
        offset: where it begins, in bytes of the text's UTF-8.
        id: of the special token that it looks like; the text never becomes that id.
        text: the text itself.
    """

    offset: int
    id: int
    text: str


class Tokenizer(OfOneProcess):
    """Text to ids and back, for one profile.

    Text is ``str`` (unpaired surrogates count as U+FFFD, decisions D4) or bytes (encoded as they are, ill-formed or not). What a caller
    passes is untrusted: no text can become the id of a special token, except through :meth:`encode_trusted`.
    """

    def __init__(self, engine: Engine, profile: Profile) -> None:
        self._engine = engine
        self._profile: Profile = profile

    def __repr__(self) -> str:
        return f"Tokenizer(profile={self._profile!r}, engine={self._engine.name!r})"

    @property
    def vocabulary_size(self) -> int:
        """Number of plain tokens; special tokens have higher ids."""
        return self._engine.vocabulary_size

    @property
    def special_tokens(self) -> dict[str, int]:
        """Text of each special token to its id."""
        return {text.decode("utf-8"): token_id for token_id, text in self._engine.special_tokens}

    def encode(self, text: Text, *, on_special: OnSpecial = "literal") -> list[int]:
        """Ids of untrusted text.

        Args:
            text: any text or bytes.
            on_special: what to do where the text of a special token stands in it: ``literal`` encodes it as plain text
                (:meth:`find_special` reports it), ``reject`` refuses.

        Raises:
            Slm2Error: ``special_token_in_text`` with all findings, ``invalid_type``, ``invalid_value``.
        """
        return self._engine.encode(self._checked(text, on_special), self._profile)

    def encode_array(self, text: Text, *, on_special: OnSpecial = "literal") -> NDArray[numpy.uint32]:
        """The ids of :meth:`encode` as a one-dimensional read-only array of uint32."""
        return self._engine.encode_array(self._checked(text, on_special), self._profile)

    def encode_into(self, text: Text, out: Buffer) -> int:
        """Write the ids of :meth:`encode` to the beginning of memory of the caller.

        Args:
            text: any text or bytes; it has at most as many ids as bytes, and in profile ``publisher`` at most three times as many.
            out: a writable, contiguous buffer of unsigned 32-bit integers: a NumPy array of uint32, ``array("I")``, ...

        Returns:
            How many ids were written.

        Raises:
            Slm2Error: ``output_too_small`` (its field ``needed`` says how many there are), ``invalid_type``.
        """
        return self._engine.encode_into(to_bytes(text), self._profile, _writable_u32(out))

    def count(self, text: Text) -> int:
        """How many ids :meth:`encode` gives, without making them."""
        return self._engine.count(_as_is(text), self._profile)

    def count_until(self, text: Text, limit: int) -> int | None:
        """The count where it is not more than ``limit``; else None, and the rest of the text is not encoded.

        Raises:
            Slm2Error: ``invalid_value`` where the limit is negative, ``invalid_type``.
        """
        if integer_id("limit", limit) < 0:
            raise Slm2Error("invalid_value", field="limit", expected="0 or more", found=shown_integer(limit))
        return self._engine.count_until(_as_is(text), self._profile, min(operator.index(limit), _MOST_IDS))

    def encode_spans(self, text: Text, *, unit: Unit = "bytes", on_special: OnSpecial = "literal") -> list[tuple[int, int, int]]:
        """``(id, start, end)``: the ids of :meth:`encode`, each with the range of the text that it came from.

        Args:
            text: any text or bytes.
            unit: what the ranges count: ``bytes`` of the text's UTF-8, ``code_points`` (the characters of a ``str`` of Python) or
                ``utf16`` (the units of a string of JavaScript or .NET). A token that begins or ends inside a character has all of
                it (contract/tokenizer.md, T-14).
            on_special: as in :meth:`encode`.

        Raises:
            Slm2Error: as :meth:`encode`.
        """
        if unit not in ("bytes", "code_points", "utf16"):
            raise Slm2Error("invalid_value", field="unit", expected="bytes, code_points or utf16", found=repr(unit))
        return self._engine.encode_spans(self._checked(text, on_special), self._profile, unit)

    def encode_batch(self, texts: Iterable[Text], *, threads: int | None = None) -> list[list[int]]:
        """The ids of each text, in their order, whatever the number of threads.

        Args:
            texts: any number of texts.
            threads: how many work at once; None for as many as there are processors. The reference engine uses one.

        Raises:
            Slm2Error: that of the first text that is refused; nothing is returned then. ``invalid_value`` for less than one thread.
        """
        return self._engine.encode_batch(_texts(texts), self._profile, _thread_count(threads))

    def encode_batch_arrays(self, texts: Iterable[Text], *, threads: int | None = None) -> list[NDArray[numpy.uint32]]:
        """The ids of :meth:`encode_batch` as read-only arrays of uint32."""
        return self._engine.encode_batch_arrays(_texts(texts), self._profile, _thread_count(threads))

    def encode_files(
        self, paths: Iterable[str | PathLike[str]], *, threads: int | None = None, progress: bool = False
    ) -> Iterator[EncodedFile]:
        """The ids of each file, in the order of the paths, read in blocks and never held whole.

        Args:
            paths: of files of bytes; each is one text.
            threads: how many files are encoded at once; None for as many as there are processors.
            progress: whether to draw a progress bar on standard error.

        Yields:
            Path, ids as an array of uint32, and bytes read, file by file.

        Raises:
            Slm2Error: ``file_unreadable``, ``pretoken_too_long``: at the file's place in the order.
        """
        names = _names(paths)
        return encode_files(lambda: self._engine.chunks(self._profile), names, _thread_count(threads), progress=progress)

    def chunks(self) -> ChunkEncoder:
        """An encoder for a text that arrives in parts."""
        return ChunkEncoder(self._engine, self._profile)

    def encoded_text(self, text: Text = "") -> EncodedText:
        """A text with its ids, to which more can be appended."""
        encoded = EncodedText(self._engine, self._profile)
        encoded.append(text)
        return encoded

    def encode_trusted(self, text: Text) -> list[int]:
        """Ids of text in which the text of a special token **is** that token: for tools and tests, never for what users write."""
        return self._engine.encode_trusted(to_bytes(text), self._profile)

    def encode_trusted_array(self, text: Text) -> NDArray[numpy.uint32]:
        """The ids of :meth:`encode_trusted` as a one-dimensional read-only array of uint32."""
        return self._engine.encode_trusted_array(to_bytes(text), self._profile)

    def find_special(self, text: Text) -> list[Finding]:
        """Where the texts of special tokens stand in ``text``: leftmost, longest, not overlapping."""
        data = to_bytes(text)
        found = self._engine.find_special(data)
        return [Finding(start, token_id, data[start:end].decode("utf-8")) for start, end, token_id in found]

    def decode(self, ids: Iterable[int], *, special: SpecialPolicy) -> bytes:
        """The bytes of the tokens, which need not be UTF-8.

        Args:
            ids: of plain and special tokens: any iterable of integers, NumPy's included, that has an order.
            special: for ids of special tokens: ``refuse``, ``skip`` or ``bytes`` (their text).

        Raises:
            Slm2Error: ``token_id_out_of_range``, ``structural_id``, ``invalid_type``, ``invalid_value``.
        """
        check_special(special)
        # As it is: an engine says which of them is no integer.
        if type(ids) is list:
            return self._engine.decode(ids, special)
        packed = packed_ids(ids)
        if packed is not None:
            return self._engine.decode_u32(packed, special)
        return self._engine.decode(integer_ids("ids", ids), special)

    def decode_text(self, ids: Iterable[int], *, special: SpecialPolicy) -> str:
        """The text of the tokens: what a :class:`~slm2.StreamDecoder` gives for all of them, when it has to end there.

        Args:
            ids: as in :meth:`decode`.
            special: as in :meth:`decode`.

        Raises:
            Slm2Error: ``ill_formed_text`` and ``unfinished_text`` where the bytes are not UTF-8: nothing is replaced by U+FFFD;
                ``token_id_out_of_range``, ``structural_id``, ``invalid_type``, ``invalid_value``.
        """
        if type(ids) is list and special in ("refuse", "skip", "bytes"):
            return self._engine.decode_text(ids, special)
        return self._engine.decode_text(integer_ids("ids", ids), check_special(special))

    def token_bytes(self, token_id: int) -> bytes:
        """Bytes of a plain token, or text of a special one.

        Raises:
            Slm2Error: ``token_id_out_of_range``, ``invalid_type``.
        """
        return self._engine.token_bytes(integer_id("token_id", token_id))

    def token_id(self, text: Text) -> int | None:
        """The plain token with exactly these bytes, by the vocabulary and not by encoding; None where there is none.

        Raises:
            Slm2Error: ``invalid_type``.
        """
        return self._engine.token_id(to_bytes(text))

    def _checked(self, text: Text, on_special: OnSpecial) -> bytes:
        if on_special not in ("literal", "reject"):
            raise Slm2Error("invalid_value", field="on_special", expected="literal or reject", found=repr(on_special))
        if on_special == "reject" and (findings := self.find_special(text)):
            raise Slm2Error("special_token_in_text", findings=[{"offset": f.offset, "id": f.id, "text": f.text} for f in findings])
        return to_bytes(text)


def tokenizer_of(engine: Engine, profile: Profile) -> Tokenizer:
    """The tokenizer of an engine: that of the native one encodes short messages without a frame of Python."""
    if engine.name == "native":
        from slm2._engine import NativeEngine  # noqa: PLC0415  (absent where the engine was not built)
        from slm2.native_tokenizer import NativeTokenizer  # noqa: PLC0415

        if isinstance(engine, NativeEngine):  # and nothing that stands before it
            return NativeTokenizer(engine, profile)
    return Tokenizer(engine, profile)


def _as_is(text: Text) -> str | bytes:
    """Text for the engine, which takes a str and bytes as they are."""
    return text if type(text) is str or type(text) is bytes else to_bytes(text)


def _texts(texts: Iterable[Text]) -> list[str | bytes]:
    if isinstance(texts, str | bytes | bytearray | memoryview | Set | Mapping) or not isinstance(texts, Iterable):
        raise Slm2Error("invalid_type", field="texts", expected="several texts", found=type(texts).__name__)
    return [_as_is(text) for text in texts]


def _names(paths: Iterable[str | PathLike[str]]) -> list[str]:
    if isinstance(paths, str | bytes | PathLike | Set | Mapping) or not isinstance(paths, Iterable):
        raise Slm2Error("invalid_type", field="paths", expected="several paths", found=type(paths).__name__)
    names = list(paths)
    for at, path in enumerate(names):
        if not isinstance(path, str | PathLike):
            raise Slm2Error("invalid_type", field=f"paths[{at}]", expected="a path", found=type(path).__name__)
    return [fsdecode(path) for path in names]


def _thread_count(threads: int | None) -> int:
    count = (os.cpu_count() or 1) if threads is None else integer_id("threads", threads)
    if count < 1:
        raise Slm2Error("invalid_value", field="threads", expected="1 or more", found=shown_integer(count))
    return min(count, _MOST_THREADS)


def _writable_u32(out: Buffer) -> memoryview:
    try:
        view = memoryview(out)
    except TypeError:
        raise Slm2Error("invalid_type", field="out", expected="a buffer of uint32", found=type(out).__name__) from None
    if view.readonly or view.ndim != 1 or not view.c_contiguous or view.format not in ("I", "<I", "=I", "L") or view.itemsize != _ID_SIZE:
        found = f"{'read-only ' if view.readonly else ''}{view.format} of {view.ndim} dimensions"
        raise Slm2Error("invalid_type", field="out", expected="a writable contiguous buffer of uint32", found=found)
    return view.cast("B").cast("I")
