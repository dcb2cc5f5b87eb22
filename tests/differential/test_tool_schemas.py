"""Functions as tools: the schema that transformers makes of them; what it refuses is refused (contract/template.md, M-21)."""

from __future__ import annotations

from enum import Enum
from typing import Any, Dict, List, Literal, Optional, Tuple, Union  # noqa: UP035

import pytest
from transformers.utils.chat_template_utils import DocstringParsingException, TypeHintParsingException, get_json_schema

import slm2
from slm2.errors import Slm2Error
from slm2.tool_schemas import as_schemas, function_schema

pydantic = pytest.importorskip("pydantic", reason="pydantic models are tools where pydantic is")


class Unit(Enum):
    CELSIUS = "celsius"
    KELVIN = 1


def weather(city: str, days: int = 3, unit: Unit = Unit.CELSIUS) -> str:
    """Tell the weather.

    Two lines of it.

    Args:
        city: The city,
            which may be long: over two lines.
        days (int): How many days.
        unit: Of temperature.

    Returns:
        What it will be.
    """


# ruff: noqa: UP007, UP037, UP045, PLR0917  (every way to write a type hint is the subject)


def drink(beverage: str, cold: Optional[bool], how: Literal["hot", 2, None], more: Any = None) -> "list[int]":
    """Drink a beverage.

    Args:
        beverage: The beverage (choices: ["tea ", "coffee"])
        cold: Whether it is cold
        how: How
        more: More
    """


def shapes(a: list[int], b: dict[str, float], c: Union[int, str, None], d: tuple[int, str], e: list, f: "int | list[str]", g: dict) -> dict:
    """Shapes.

    Args:
        a: a
        b: b
        c: c
        d: d
        e: e
        f: f
        g: g

    Raises:
        ValueError: never
    """


def bare() -> Unit:
    """Nothing to say."""


def custom(a: Unit, b: slm2.Contract) -> None:
    """Custom.

    Args:
        a: a
        b: b
    """


def undescribed(a: int, b: int) -> None:
    """Undescribed.

    Args:
        a: a
    """


def unhinted(a) -> None:
    """Unhinted.

    Args:
        a: a
    """


def undocumented(a: int) -> None:
    pass


def single(a: tuple[int]) -> None:
    """Single.

    Args:
        a: a
    """


class Tools:
    def method(self, a: int) -> None:
        """Do it.

        Args:
            a: The number
        """


@pytest.mark.parametrize("function", [weather, drink, shapes, bare, Tools().method], ids=lambda function: function.__name__)
def test_schemas_are_those_of_transformers(function) -> None:
    expected = get_json_schema(function)
    assert function_schema(function) == expected
    template = slm2.load(engine="native").template
    message = [{"role": "user", "content": "q"}]
    assert template.render(message, tools=[function]).input_ids == template.render(message, tools=[expected]).input_ids


@pytest.mark.parametrize("function", [custom, undescribed, unhinted, undocumented, single], ids=lambda function: function.__name__)
def test_what_transformers_refuses_is_refused_by_its_place(function) -> None:
    with pytest.raises((DocstringParsingException, TypeHintParsingException)):
        get_json_schema(function)
    with pytest.raises(Slm2Error) as caught:
        as_schemas([{}, function])
    assert (caught.value.code, caught.value.fields["tool"]) == ("tool_not_convertible", 1)


def test_pydantic_models_are_tools() -> None:
    class Lookup(pydantic.BaseModel):
        """Look something up."""

        key: str
        limit: int = 10

    (schema,) = as_schemas([Lookup])
    assert schema["function"]["name"] == "Lookup"
    assert schema["function"]["description"] == "Look something up."
    assert schema["function"]["parameters"] == Lookup.model_json_schema()
    assert as_schemas([Lookup(key="k")]) == [{"key": "k", "limit": 10}]
    rendering = slm2.load(engine="native").template.render([{"role": "user", "content": "q"}], tools=[Lookup])
    assert '"name": "Lookup", "description": "Look something up."' in rendering.text


def without_members(a: List, b: Dict, c: Tuple) -> None:  # noqa: UP006
    """Take containers of typing without what is in them.

    Args:
        a: A list
        b: A mapping
        c: A tuple
    """


def test_containers_of_typing_without_members() -> None:
    assert function_schema(without_members) == get_json_schema(without_members)


@pytest.mark.parametrize("hint", ["int ||", "typing.no_such_name", "1/0", "nowhere"])
def test_a_hint_that_cannot_be_evaluated_is_refused(hint) -> None:
    def function(a) -> None:
        """Do it.

        Args:
            a: The number
        """

    function.__annotations__ = {"a": hint}
    with pytest.raises(Slm2Error) as caught:
        as_schemas([function])
    assert caught.value.code == "tool_not_convertible"
