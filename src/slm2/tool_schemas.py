"""Tools as JSON schemas: mappings as they are, pydantic models, and functions with type hints and a docstring.

The schema of a function follows the rules of transformers' ``get_json_schema`` (5.24.0), so that a tool has the prompt that
``apply_chat_template`` gives it; tests compare the two. A pydantic model class is a function tool of its own: its name, its docstring,
and its JSON schema as parameters; a model instance is what it dumps.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Literal, NoReturn, Union, get_args, get_origin, get_type_hints

from slm2.errors import Slm2Error
from slm2.reference.json_text import read_json

__all__ = ["as_schemas", "function_schema"]

Json = dict[str, Any]

_BASIC: dict[object, Json] = {
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    list: {"type": "array"},
    tuple: {"type": "array"},
    dict: {"type": "object"},
    Any: {},
}
_SCALARS = {int: "integer", float: "number", str: "string", bool: "boolean", type(None): "null"}

# Sections of a docstring in Google's style.
_DESCRIPTION = re.compile(r"^(.*?)[\n\s]*(Args:|Returns:|Raises:|\Z)", re.DOTALL)
_ARGUMENTS = re.compile(r"\n\s*Args:\n(.*?)[\n\s]*(Returns:|Raises:|\Z)", re.DOTALL)
_RETURNS = re.compile(r"\n\s*Returns:\n\s*(.*?)[\n\s]*(Raises:|\Z)", re.DOTALL)
# An argument: its indentation, its name, a type in brackets that is passed over, and its text up to the next one.
_NAME = r"\w+(?:[ \t]*\([^()\n]*\))?:"
_ARGUMENT = re.compile(rf"(?:^|\n)([ \t]*)(\w+)(?:[ \t]*\([^()\n]*\))?:\s*(.*?)\s*(?=\n(?!\1[ \t])[ \t]*{_NAME}|\Z)", re.DOTALL)
_CHOICES = re.compile(r"\(choices:\s*(.*?)\)\s*$", re.IGNORECASE)


def as_schemas(tools: object) -> object:
    """The tools of a request with functions and models replaced by their schemas; all else is left for the contract to judge.

    Raises:
        Slm2Error: ``tool_not_convertible``.
    """
    if not isinstance(tools, list | tuple):
        return tools
    return [_as_schema(tool, number) for number, tool in enumerate(tools)]


def _as_schema(tool: object, number: int) -> object:
    if isinstance(tool, Mapping):
        return tool
    if isinstance(tool, type) and callable(getattr(tool, "model_json_schema", None)):
        return _model_schema(tool)
    if callable(getattr(tool, "model_dump", None)) and not isinstance(tool, type):
        return tool.model_dump(mode="json")  # type: ignore[attr-defined]  # looked for just before
    if inspect.isfunction(tool) or inspect.ismethod(tool):
        return function_schema(tool, number)
    return tool


def _model_schema(model: Any) -> Json:  # noqa: ANN401  (a class of a package that need not be there)
    function: Json = {"name": model.__name__}
    # A docstring of the class itself: what pydantic's own classes say of themselves describes no tool.
    if model.__dict__.get("__doc__"):
        function["description"] = inspect.cleandoc(model.__doc__)
    return {"type": "function", "function": {**function, "parameters": model.model_json_schema()}}


def function_schema(function: Callable[..., object], number: int = 0) -> Json:
    """The schema of a function, as transformers makes it.

    Args:
        function: with a type hint for each argument and a docstring in Google's style that describes each.
        number: its place among the tools, for errors.

    Raises:
        Slm2Error: ``tool_not_convertible`` with the reason.
    """
    return _Function(function, number).schema()


class _Function:
    def __init__(self, function: Callable[..., object], number: int) -> None:
        self.function = function
        self.number = number
        self.name = getattr(function, "__name__", "operation")

    def refuse(self, reason: str) -> NoReturn:
        raise Slm2Error("tool_not_convertible", tool=self.number, reason=reason)

    def schema(self) -> Json:
        doc = inspect.getdoc(self.function)
        if not doc:
            self.refuse(f"{self.name} has no docstring")
        doc = doc.strip()
        described = _DESCRIPTION.search(doc)
        parameters = self.parameters()
        returns = parameters["properties"].pop("return", None)
        arguments = _arguments_of(doc)
        for name, schema in parameters["properties"].items():
            self.describe(name, schema, arguments)
        made: Json = {"name": self.name, "description": described.group(1).strip() if described else None, "parameters": parameters}
        if returns is not None:
            said = _RETURNS.search(doc)
            made["return"] = {**returns, "description": said.group(1).strip()} if said else returns
        return {"type": "function", "function": made}

    def describe(self, name: str, schema: Json, arguments: Mapping[str, str]) -> None:
        """The docstring's words on an argument, and the choices that they end with."""
        if name not in arguments:
            self.refuse(f"the docstring of {self.name} does not describe the argument {name}")
        description = arguments[name]
        choices = _CHOICES.search(description)
        if choices is not None:
            try:
                values = read_json(choices.group(1))
            except Slm2Error:
                values = None
            if not isinstance(values, list):
                self.refuse(f"the choices of the argument {name} of {self.name} are no JSON array")
            schema["enum"] = [value.strip() if isinstance(value, str) else value for value in values]
            description = description[: choices.start()].strip()
        schema["description"] = description

    def parameters(self) -> Json:
        """Types and required arguments; the first of a method, without a hint, is the method's own."""
        try:
            hints = get_type_hints(self.function)
        except Exception as error:  # a hint that is text is evaluated: whatever that raises
            self.refuse(f"a type hint of {self.name} cannot be resolved: {error}")
        arguments = inspect.signature(self.function).parameters
        first = next(iter(arguments), None)
        own = first if first in ("self", "cls") and arguments[first].annotation is inspect.Parameter.empty else None
        required = []
        for name, argument in arguments.items():
            if name == own:
                continue
            if argument.annotation is inspect.Parameter.empty:
                self.refuse(f"the argument {name} of {self.name} has no type hint")
            if argument.default is inspect.Parameter.empty:
                required.append(name)
        properties: Json = {}
        for name, hint in hints.items():
            if name == "return":
                # What the model never writes need not be convertible.
                try:
                    properties[name] = self.of_hint(hint)
                except Slm2Error:
                    continue
            elif name != own:
                properties[name] = self.of_hint(hint)
        return {"type": "object", "properties": properties, **({"required": required} if required else {})}

    def of_hint(self, hint: Any) -> Json:  # noqa: ANN401, PLR0911  (a type hint; one for each kind)
        """The schema of a type hint."""
        origin, arguments = get_origin(hint), get_args(hint)
        if origin is None:
            return self.of_class(hint)
        if origin is Union or origin is types.UnionType:
            return self.of_union(arguments)
        if origin is Literal:
            return self.of_values(list(arguments), "a literal")
        if origin in (list, tuple, dict) and not arguments:
            return dict(_BASIC[origin])  # typing.List and the like, without what is in it
        if origin is list:
            return {"type": "array", "items": self.of_hint(arguments[0])}
        if origin is tuple:
            if len(arguments) == 1 or ... in arguments:
                self.refuse(f"{hint} is no tuple of several types")
            return {"type": "array", "prefixItems": [self.of_hint(argument) for argument in arguments]}
        if origin is dict:
            return {"type": "object", "additionalProperties": self.of_hint(arguments[1])}
        return self.refuse(f"the type hint {hint} has no JSON schema")

    def of_class(self, hint: Any) -> Json:  # noqa: ANN401  (a type hint)
        if isinstance(hint, type) and issubclass(hint, Enum):
            return self.of_values([member.value for member in hint], hint.__name__)
        try:
            return dict(_BASIC[hint])
        except (KeyError, TypeError):
            return self.refuse(f"the type hint {hint!r} has no JSON schema")

    def of_values(self, values: list[object], what: str) -> Json:
        if not values or any(type(value) not in _SCALARS for value in values):
            self.refuse(f"{what} has values that are no JSON scalars, or none")
        kinds = list(dict.fromkeys(_SCALARS[type(value)] for value in values))
        return {"type": kinds[0] if len(kinds) == 1 else kinds, "enum": values}

    def of_union(self, hints: tuple[Any, ...]) -> Json:
        schemas = [self.of_hint(hint) for hint in hints if hint is not type(None)]
        nullable = {"nullable": True} if type(None) in hints else {}
        if len(schemas) == 1:
            return {**schemas[0], **nullable}
        if all(schema.keys() == {"type"} and isinstance(schema["type"], str) for schema in schemas):
            names = sorted({schema["type"] for schema in schemas})
            return {"type": names[0] if len(names) == 1 else names, **nullable}
        return {"anyOf": schemas, **nullable}


def _arguments_of(doc: str) -> dict[str, str]:
    """The words of a docstring on each argument, on one line."""
    section = _ARGUMENTS.search(doc)
    if section is None:
        return {}
    text = "\n".join(line for line in section.group(1).split("\n") if line.strip())
    return {name: re.sub(r"\s*\n+\s*", " ", said.strip()) for _, name, said in _ARGUMENT.findall(text)}
