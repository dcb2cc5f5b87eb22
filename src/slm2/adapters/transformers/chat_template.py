"""``apply_chat_template`` by Template2."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from slm2.adapters.transformers.chat_prompt import ChatPrompt
from slm2.errors import Slm2Error
from slm2.template import Rendering

if TYPE_CHECKING:
    from slm2.adapters.transformers.backend import SpecialText
    from slm2.contract import Contract

__all__ = ["ChatTemplate"]

# Options of Template2 beside those that transformers names.
_OPTIONS = ("enable_thinking", "preserve_thinking")


class ChatTemplate:
    """The part of a tokenizer that takes conversations; what it needs of the rest is declared here."""

    if TYPE_CHECKING:
        chat_template: Any
        __call__: Any

        @property
        def contract(self) -> Contract:
            """What computes."""

        @property
        def special_text(self) -> SpecialText:
            """``literal`` or ``parse``."""

    def apply_chat_template(  # noqa: PLR0913, PLR0917  (as transformers has it)
        self,
        conversation: Any,  # noqa: ANN401  (checked by Template2)
        tools: Sequence[object] | None = None,
        documents: Sequence[object] | None = None,
        chat_template: str | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool | str = False,
        tokenize: bool = True,
        sanitize_control_tokens: bool = False,  # noqa: ARG002  (the text of messages is never anything else)
        padding: Any = False,  # noqa: ANN401
        truncation: Any = False,  # noqa: ANN401
        max_length: int | None = None,
        return_tensors: Any = None,  # noqa: ANN401
        return_dict: bool = True,
        return_assistant_tokens_mask: bool = False,
        tokenizer_kwargs: Mapping[str, Any] | None = None,
        **options: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401  (as transformers has it)
        r"""The ids of a conversation, or of several, by Template2: the text of messages is text, with ``special_text='parse'`` too.

        Args:
            conversation: messages, or several lists of them.
            tools: as :meth:`slm2.template.Template.render`.
            documents: refused: this template has no place for them.
            chat_template: refused unless it is this tokenizer's own.
            add_generation_prompt: as ``render``.
            continue_final_message: as ``render``.
            tokenize: False gives the prompt's text. A tokenizer with ``special_text='literal'`` would not read it back, and warns.
            sanitize_control_tokens: what it asks for is always done.
            padding: as in a call.
            truncation: as in a call.
            max_length: as in a call.
            return_tensors: as in a call.
            return_dict: whether to return a ``BatchEncoding`` or the ids alone.
            return_assistant_tokens_mask: add ``assistant_masks``: 1 for what a model writes in a turn of the assistant, from behind
                ``<|im_start|>assistant\n`` up to and with ``<|im_end|>``.
            tokenizer_kwargs: more arguments of a call.
            options: ``enable_thinking`` and ``preserve_thinking``, as ``render``.

        Raises:
            Slm2Error: as ``render``; ``invalid_value`` for what is refused above, and for a mask without ids in a dictionary;
                ``unknown_field`` for another option.
        """
        self._check_chat(documents, chat_template, mask=return_assistant_tokens_mask, into_dict=tokenize and return_dict)
        for option in options:
            if option not in _OPTIONS:
                raise Slm2Error("unknown_field", field=option, known=", ".join(_OPTIONS))
        batched = isinstance(conversation, list | tuple) and bool(conversation) and _is_conversation(conversation[0])
        prompts = [
            ChatPrompt.of(
                self._render(
                    one,
                    tools=tools,
                    add_generation_prompt=add_generation_prompt,
                    continue_final_message=continue_final_message,
                    **options,
                )
            )
            for one in (conversation if batched else [conversation])
        ]
        if not tokenize:
            if self.special_text == "literal":
                message = (
                    "the text of a prompt is for reading: with special_text='literal' its special tokens would be read back as plain text"
                )
                warnings.warn(message, UserWarning, stacklevel=2)
            texts = [str.__str__(prompt) for prompt in prompts]
            return texts if batched else texts[0]
        out = self(
            prompts if batched else prompts[0],
            padding=padding,
            truncation=truncation,
            max_length=max_length,
            add_special_tokens=False,
            return_tensors=return_tensors,
            **(tokenizer_kwargs or {}),
        )
        if return_assistant_tokens_mask:
            masks = [encoding.assistant_mask for encoding in out.encodings]
            out["assistant_masks"] = masks if batched or return_tensors else masks[0]
            out.convert_to_tensors(tensor_type=return_tensors)
        return out if return_dict else out["input_ids"]

    def _check_chat(self, documents: object, chat_template: object, *, mask: bool, into_dict: bool) -> None:
        if documents is not None:
            raise Slm2Error("invalid_value", field="documents", expected="None: this template has no place for them", found="documents")
        if chat_template is not None and chat_template != self.chat_template:
            expected = "None: the template is a program in the artifact"
            raise Slm2Error("invalid_value", field="chat_template", expected=expected, found="another template")
        if mask and not into_dict:
            expected = "False, or tokenize=True and return_dict=True"
            raise Slm2Error("invalid_value", field="return_assistant_tokens_mask", expected=expected, found="True")

    def _render(self, conversation: Any, **options: Any) -> Rendering:  # noqa: ANN401
        messages = getattr(conversation, "messages", conversation)
        if isinstance(messages, list | tuple):
            # As transformers does: a key without a value is no key.
            messages = [
                {key: value for key, value in message.items() if value is not None} if isinstance(message, Mapping) else message
                for message in messages
            ]
        return self.contract.template.render(messages, **options)


def _is_conversation(value: object) -> bool:
    return isinstance(value, list | tuple) or hasattr(value, "messages")
