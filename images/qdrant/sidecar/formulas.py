"""Turns the formula of a rescoring query into the engine's expression."""

from __future__ import annotations

from qdrant_edge import DecayKind, Expression, Formula

from sidecar.filters import condition, geo_point
from sidecar.vectors import payload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from sidecar.reading import Node

DEPTH_LIMIT = 32

_CONDITION_KEYS = ("key", "is_empty", "is_null", "has_id", "has_vector", "nested", "slice")
_CLAUSES = ("must", "should", "must_not", "min_should")


def formula(node: Node) -> Formula:
    """Return the engine's formula, with the defaults for what points lack."""
    node.object("formula", "defaults")
    defaults = node.get("defaults")
    return Formula(_expression(node.need("formula"), 0), {} if defaults is None else payload(defaults))


def _expression(node: Node, depth: int) -> Expression:
    if depth >= DEPTH_LIMIT:
        raise node.refuse(f"expressions nest more than {DEPTH_LIMIT} levels")
    if node.is_text():
        return Expression.Variable(node.text())
    if not node.is_object():
        return Expression.Constant(node.number())
    if any(node.has(key) for key in (*_CONDITION_KEYS, *_CLAUSES)):
        return Expression.Condition(condition(node))
    members = node.members()
    name = next(iter(members), "")
    if len(members) != 1 or name not in _READERS:
        raise node.refuse(f"an expression is a number, a name, a condition, or an object with one of: {_KNOWN}")
    return _READERS[name](members[name], depth + 1)


def _many(node: Node, depth: int) -> list[Expression]:
    return [_expression(item, depth) for item in node.items()]


def _division(node: Node, depth: int) -> Expression:
    node.object("left", "right", "by_zero_default")
    default = node.get("by_zero_default")
    left, right = _expression(node.need("left"), depth), _expression(node.need("right"), depth)
    return Expression.Div(left, right, None if default is None else default.number())


def _power(node: Node, depth: int) -> Expression:
    node.object("base", "exponent")
    return Expression.Pow(_expression(node.need("base"), depth), _expression(node.need("exponent"), depth))


def _distance(node: Node, _depth: int) -> Expression:
    node.object("origin", "to")
    return Expression.GeoDistance(geo_point(node.need("origin")), node.need("to").text())


def _decay(kind: DecayKind) -> Callable[[Node, int], Expression]:
    def read(node: Node, depth: int) -> Expression:
        node.object("x", "target", "scale", "midpoint")
        target, scale, midpoint = node.get("target"), node.get("scale"), node.get("midpoint")
        return Expression.Decay(
            kind,
            _expression(node.need("x"), depth),
            None if target is None else _expression(target, depth),
            None if midpoint is None else midpoint.number(),
            None if scale is None else scale.number(),
        )

    return read


_READERS: dict[str, Callable[[Node, int], Expression]] = {
    "geo_distance": _distance,
    "datetime": lambda node, _: Expression.Datetime(node.text()),
    "datetime_key": lambda node, _: Expression.DatetimeKey(node.text()),
    "mult": lambda node, depth: Expression.Mult(_many(node, depth)),
    "sum": lambda node, depth: Expression.Sum(_many(node, depth)),
    "max": lambda node, depth: Expression.Max(_many(node, depth)),
    "min": lambda node, depth: Expression.Min(_many(node, depth)),
    "neg": lambda node, depth: Expression.Neg(_expression(node, depth)),
    "abs": lambda node, depth: Expression.Abs(_expression(node, depth)),
    "div": _division,
    "sqrt": lambda node, depth: Expression.Sqrt(_expression(node, depth)),
    "pow": _power,
    "exp": lambda node, depth: Expression.Exp(_expression(node, depth)),
    "log10": lambda node, depth: Expression.Log10(_expression(node, depth)),
    "ln": lambda node, depth: Expression.Ln(_expression(node, depth)),
    "acosh": lambda node, depth: Expression.Acosh(_expression(node, depth)),
    "exp_decay": _decay(DecayKind.Exp),
    "gauss_decay": _decay(DecayKind.Gauss),
    "lin_decay": _decay(DecayKind.Lin),
}
_KNOWN = ", ".join(_READERS)
