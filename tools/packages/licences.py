"""Which licences may be in a package, or be installed with it."""

from __future__ import annotations

from functools import cache

from license_expression import LicenseExpression, get_spdx_licensing

# Permissive ones, whose conditions the notices meet. An addition is a decision: read the licence first.
ALLOWED = frozenset(
    {
        "0BSD",
        "Apache-2.0",
        "Apache-2.0 WITH LLVM-exception",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "CC0-1.0",
        "ISC",
        "MIT",
        "PSF-2.0",
        "Unicode-3.0",
        "Zlib",
    }
)


def normal(expression: str) -> str:
    """In the form of SPDX: old crates write `/` for `OR`."""
    return " OR ".join(part.strip() for part in expression.split("/"))


@cache
def is_allowed(expression: str) -> bool:
    """Whether it leaves a choice of allowed licences alone.

    Raises:
        license_expression.ExpressionError: it is no SPDX expression.
    """
    return _holds(get_spdx_licensing().parse(normal(expression), validate=True))


def _holds(node: LicenseExpression) -> bool:
    operator = getattr(node, "operator", "").strip()
    if operator == "AND":
        return all(_holds(part) for part in node.args)
    if operator == "OR":
        return any(_holds(part) for part in node.args)
    return str(node) in ALLOWED
