"""``Slm2Tokenizer``: a fast tokenizer of transformers whose ids come from the artifact's engine.

Why it is a subclass: collators, trainers and pipelines ask ``isinstance(tokenizer, PreTrainedTokenizerFast)``. What the base class does
with arguments, tensors and dictionaries stays its own; where it would ask the ``tokenizers`` library it asks
:class:`~slm2.adapters.transformers.backend.EngineBackend`, and there is no way back to that library.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from tokenizers import AddedToken
from transformers import BatchEncoding, PreTrainedTokenizerFast

from slm2.adapters.transformers.backend import EngineBackend, SpecialText
from slm2.adapters.transformers.byte_alphabet import bytes_of
from slm2.adapters.transformers.chat_template import ChatTemplate
from slm2.adapters.transformers.tokenizer_files import (
    ARTIFACT_FILE,
    REFUSING_TEMPLATE,
    check_added_tokens,
    check_template,
    check_tokenizer_file,
)
from slm2.artifact import Profile
from slm2.contract import Contract, Source
from slm2.engine import EngineChoice
from slm2.errors import Slm2Error

__all__ = ["Slm2Tokenizer"]

# What the publisher's tokenizer_config.json says for Qwen3-0.6B, beside the tokens themselves.
_NAMED = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}
_EXTRA = (
    "<|im_start|>", "<|im_end|>", "<|object_ref_start|>", "<|object_ref_end|>", "<|box_start|>", "<|box_end|>", "<|quad_start|>",
    "<|quad_end|>", "<|vision_start|>", "<|vision_end|>", "<|vision_pad|>", "<|image_pad|>", "<|video_pad|>",
)  # fmt: skip
_MODEL_MAX_LENGTH = 131_072

# Arguments that would make other ids than the artifact's, with the values that do not.
_ONLY = {"add_bos_token": (None, False), "add_eos_token": (None, False), "add_prefix_space": (None, False), "tokenizer_object": (None,)}


class Slm2Tokenizer(ChatTemplate, PreTrainedTokenizerFast):
    """A tokenizer for transformers over an artifact.

    Attributes:
        contract: what computes; ``contract.tokenizer`` and ``contract.template`` are the strict forms of what this class offers.
        special_text: ``literal``, where no text becomes a special token, or ``parse``.
    """

    vocab_files_names = {"artifact_file": ARTIFACT_FILE, "tokenizer_file": "tokenizer.json"}  # noqa: RUF012  (transformers' own form)
    model_input_names = ["input_ids", "attention_mask"]  # noqa: RUF012

    def __init__(  # noqa: PLR0913  (each has a meaning of its own)
        self,
        *,
        special_text: SpecialText,
        profile: Profile = "contract",
        artifact: Source = None,
        engine: EngineChoice = "auto",
        threads: int | None = None,
        artifact_file: str | None = None,
        tokenizer_file: str | None = None,
        **settings: Any,  # noqa: ANN401  (those of transformers)
    ) -> None:
        """Open an artifact.

        Args:
            special_text: what the text of a special token in a caller's text is: ``literal``, plain text, or ``parse``, that token, as
                transformers takes it. With ``parse`` whoever writes a text can write structure into a prompt; it warns once.
            profile: ``contract``, or ``publisher`` for the publisher's ids bit by bit (NFC).
            artifact: a path, the bytes themselves, or None for the embedded one (Qwen3-0.6B).
            engine: ``native``, ``reference`` or ``auto``.
            threads: how many encode the texts of a batch; None for as many as there are processors.
            artifact_file: the artifact that ``save_pretrained`` wrote; ``from_pretrained`` gives it.
            tokenizer_file: a tokenizer.json, which is compared with the artifact; ``from_pretrained`` gives it.
            settings: of transformers' fast tokenizers: named special tokens, ``padding_side``, ``model_max_length``, ...

        Raises:
            Slm2Error: ``invalid_value``, ``model_mismatch`` where a file or a setting is not the artifact's, or as :func:`slm2.load`.
        """
        if special_text not in ("literal", "parse"):
            raise Slm2Error("invalid_value", field="special_text", expected="literal or parse", found=repr(special_text))
        for name, allowed in _ONLY.items():
            if settings.pop(name, None) not in allowed:
                raise Slm2Error("invalid_value", field=name, expected="nothing: the artifact is sealed", found="a setting")
        source: Source = artifact if artifact is not None else artifact_file
        flagged = (*_NAMED.values(), *_EXTRA)
        self._tokenizer = EngineBackend(
            special_text=special_text, profile=profile, artifact=source, engine=engine, threads=threads, flagged=flagged
        )
        model = str(settings.get("name_or_path") or type(self).__name__)
        if tokenizer_file is not None and Path(tokenizer_file).is_file():
            check_tokenizer_file(self._tokenizer, Path(tokenizer_file), model)
        check_added_tokens(self._tokenizer, settings.pop("added_tokens_decoder", None) or {}, model)
        if settings.get("chat_template") is None:
            settings["chat_template"] = REFUSING_TEMPLATE
        check_template(self._tokenizer, settings["chat_template"], model)
        extra = settings.pop("additional_special_tokens", None)
        defaults = {**_NAMED, "extra_special_tokens": [*_EXTRA] if extra is None else extra, "model_max_length": _MODEL_MAX_LENGTH}
        literal = special_text == "literal"
        given = {**defaults, **settings, "split_special_tokens": literal or bool(settings.get("split_special_tokens")), "backend": "slm2"}
        super().__init__(**given)  # type: ignore[no-untyped-call]
        if literal:
            # It is the caller's choice each time, and no folder's: it is not saved.
            self.init_kwargs.pop("split_special_tokens")
        if not literal:
            message = "special_text='parse': whoever writes a text can write special tokens into it; 'literal' takes text as text"
            warnings.warn(message, UserWarning, stacklevel=2)

    def __repr__(self) -> str:
        """Which artifact, profile and engine, and what becomes of the text of special tokens."""
        contract = self.contract
        return (
            f"{type(self).__name__}(special_text={self.special_text!r}, profile={contract.profile!r}, engine={contract.engine.name!r}, "
            f"digest={contract.digest[:12]!r}, name_or_path={self.name_or_path!r}, vocab_size={self.vocab_size}, "
            f"model_max_length={self.model_max_length}, padding_side={self.padding_side!r}, truncation_side={self.truncation_side!r}, "
            f"special_tokens={self.special_tokens_map})"
        )

    @property
    def _backend(self) -> EngineBackend:
        return cast("EngineBackend", self._tokenizer)

    @property
    def contract(self) -> Contract:
        """What computes."""
        return self._backend.contract

    @property
    def special_text(self) -> SpecialText:
        """``literal`` or ``parse``."""
        return self._backend.special_text

    # ---- texts ----

    def _encode_plus(self, *args: Any, sanitize_control_tokens: bool = False, **kwargs: Any) -> BatchEncoding:  # noqa: ANN401
        if sanitize_control_tokens:
            expected = "False: apply_chat_template takes all text of messages as text, whatever is asked for"
            raise Slm2Error("invalid_value", field="sanitize_control_tokens", expected=expected, found="True")
        return super()._encode_plus(*args, **kwargs)

    def _encode_without_added_tokens(self, text: str) -> list[int]:
        return self.contract.tokenizer.encode(text)

    def _decode(
        self,
        token_ids: int | Sequence[int] | Mapping[str, Any],
        skip_special_tokens: bool = False,
        clean_up_tokenization_spaces: bool | None = None,  # noqa: ARG002  (the publisher's ignores it for BPE too)
        **kwargs: Any,  # noqa: ANN401, ARG002  (so are others)
    ) -> str:
        ids = token_ids["input_ids"] if isinstance(token_ids, Mapping) else token_ids
        return self._backend.decode([ids] if isinstance(ids, int) else ids, skip_special_tokens=skip_special_tokens)

    def convert_tokens_to_string(self, tokens: Sequence[str]) -> str:
        """The text of tokens: their bytes, and U+FFFD where those are no text. What is no token's text stands as it is."""
        parts = [token.encode("utf-8") if (data := bytes_of(token)) is None else data for token in tokens]
        return b"".join(parts).decode("utf-8", errors="replace")

    # ---- what the artifact decides ----

    @classmethod
    def convert_to_native_format(cls, trust_remote_code: Any = False, **kwargs: Any) -> dict[str, Any]:  # noqa: ANN401, ARG003
        """Nothing is converted: there is no other tokenizer behind this one."""
        return kwargs

    def update_post_processor(self) -> None:
        """Nothing: the template is in the artifact."""

    def _add_tokens(self, new_tokens: Sequence[str | AddedToken], special_tokens: bool = False) -> int:
        return self._backend.add_special_tokens(new_tokens) if special_tokens else self._backend.add_tokens(new_tokens)

    def add_tokens(self, new_tokens: Any, special_tokens: bool = False) -> int:  # noqa: ANN401
        """Take special tokens of the artifact, of which 0 are new.

        Raises:
            Slm2Error: ``invalid_value`` for any other: the artifact is sealed.
        """
        return super().add_tokens(new_tokens, special_tokens=special_tokens)

    def add_special_tokens(self, special_tokens_dict: Mapping[str, Any], replace_extra_special_tokens: bool = True) -> int:
        """Name special tokens of the artifact, of which 0 are new.

        Raises:
            Slm2Error: ``invalid_value`` for any other; nothing was named then.
        """
        for value in special_tokens_dict.values():
            self._backend.add_tokens([value] if isinstance(value, str | AddedToken) else value)
        return super().add_special_tokens(dict(special_tokens_dict), replace_extra_special_tokens)

    def __setattr__(self, name: str, value: object) -> None:
        token = value if name in self.SPECIAL_TOKENS_ATTRIBUTES else None
        if token is not None and self._backend.token_to_id(str(token)) is None:
            raise Slm2Error("invalid_value", field=name, expected="a token of the artifact", found=repr(str(token)))
        super().__setattr__(name, value)  # type: ignore[no-untyped-call]

    @property
    def added_tokens_decoder(self) -> dict[int, AddedToken]:
        """The special tokens by their ids."""
        by_id = sorted(self._backend.encoder.special.items(), key=lambda item: item[1])
        return {token_id: AddedToken(text, special=self._backend.is_flagged(text), normalized=False) for text, token_id in by_id}

    def train_new_from_iterator(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401, ARG002
        """Refuse.

        Raises:
            Slm2Error: ``invalid_value``.
        """
        raise Slm2Error("invalid_value", field="train_new_from_iterator", expected="a tokenizer that is not sealed", found="an artifact")

    # ---- files ----

    @classmethod
    def from_pretrained(  # type: ignore[override]  # noqa: PLR0913  (the choices of the constructor)
        cls,
        pretrained_model_name_or_path: str | os.PathLike[str],
        *inputs: Any,  # noqa: ANN401
        special_text: SpecialText,
        profile: Profile = "contract",
        artifact: Source = None,
        engine: EngineChoice = "auto",
        threads: int | None = None,
        **settings: Any,  # noqa: ANN401
    ) -> Slm2Tokenizer:
        """A tokenizer from a folder: one that ``save_pretrained`` wrote, or the publisher's, which is compared with the artifact.

        What a folder's ``tokenizer_config.json`` says of the arguments that are named here is not taken: they are the caller's.

        Args:
            pretrained_model_name_or_path: the folder, or a name that transformers knows.
            inputs: as transformers has them.
            special_text: as in the constructor, like the four after it.
            profile: see there.
            artifact: see there; None for the folder's where it has one, else the embedded one.
            engine: see there.
            threads: see there.
            settings: of transformers.

        Raises:
            Slm2Error: as the constructor.
        """
        chosen: dict[str, Any] = {"profile": profile, "artifact": artifact, "engine": engine, "threads": threads}
        made = super().from_pretrained(pretrained_model_name_or_path, *inputs, special_text=special_text, **chosen, **settings)
        return cast("Slm2Tokenizer", made)

    def save_vocabulary(self, save_directory: str, filename_prefix: str | None = None) -> tuple[str]:
        """Write the artifact; returns its path."""
        name = (filename_prefix + "-" if filename_prefix else "") + ARTIFACT_FILE
        path = Path(save_directory) / name
        path.write_bytes(self._backend.artifact)
        return (str(path),)

    def _save_pretrained(
        self,
        save_directory: str | os.PathLike[str],
        file_names: tuple[str, ...],
        legacy_format: bool | None = None,
        filename_prefix: str | None = None,
    ) -> tuple[str, ...]:
        if legacy_format:
            raise Slm2Error("invalid_value", field="legacy_format", expected="False or None", found="True")
        return file_names + self.save_vocabulary(os.fspath(save_directory), filename_prefix)
