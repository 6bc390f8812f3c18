"""The calculator that ships: arithmetic over MCP on standard input and output.

    python -m parley.agents.looking.calculator_server

An expression is read as Python's own grammar has it, and only numbers, the operators and functions below are computed.
Nothing of it is run. Whole numbers and fractions are exact.
"""

import ast
import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

MOST_CHARS = 500
_MOST_DIGITS = 1_000
"""Of a number on the way, and so of each step's work."""
Number = Fraction | float
_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs, "round": round, "min": min, "max": max, "sum": lambda *xs: sum(xs), "sqrt": math.sqrt,
    "exp": math.exp, "log": math.log, "log10": math.log10, "log2": math.log2, "sin": math.sin, "cos": math.cos,
    "tan": math.tan, "floor": math.floor, "ceil": math.ceil,
}  # fmt: skip
_CONSTANTS = {"pi": math.pi, "e": math.e}


def compute(expression: str) -> str:
    """The value of an expression, as text; of a fraction also as a decimal number. Raises ValueError: it is no
    arithmetic, is too long, or has no value; says why."""
    if len(expression) > MOST_CHARS:
        raise ValueError(f"the expression has {len(expression):,} characters, the limit is {MOST_CHARS}")
    try:
        return _shown(_value(ast.parse(expression.strip(), mode="eval").body))
    except (SyntaxError, RecursionError, MemoryError):
        raise ValueError(f"{expression!r} is no arithmetic expression, such as (3 + 4) * 2 / 7") from None
    except (ZeroDivisionError, OverflowError, TypeError, ArithmeticError) as error:
        raise ValueError(f"{expression!r} has no value: {error}") from None


def _shown(value: Number) -> str:
    if isinstance(value, Fraction):
        return str(value) if value.denominator == 1 else f"{value} = {float(value):.15g}"
    if not math.isfinite(value):
        raise ValueError("a number on the way is too large")
    return f"{value:.15g}"


def _value(node: ast.AST) -> Number:
    match node:
        case ast.Constant(value=int() as number) if not isinstance(number, bool):
            return _bounded(Fraction(number))
        case ast.Constant(value=float() as number):
            return _bounded(Fraction(str(number)) if math.isfinite(number) else number)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _power(_value(left), _value(right))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _bounded(_OPERATORS[type(op)](_value(left), _value(right)))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            return _bounded(_FUNCTIONS[name](*_arguments(name, args)))
        case ast.Name(id=name) if name in _CONSTANTS:
            return _CONSTANTS[name]
    known = ", ".join((*_FUNCTIONS, *_CONSTANTS))
    raise ValueError(f"only numbers, + - * / // % ** and {known} are known")


def _arguments(name: str, args: list[ast.expr]) -> list[Any]:
    """The arguments of a function; how many digits `round` keeps is a whole number."""
    values: list[Any] = [_value(a) for a in args]
    if name == "round" and len(values) == 2:
        values[1] = int(values[1])
    return values


def _power(base: Number, exponent: Number) -> Number:
    if isinstance(base, Fraction) and isinstance(exponent, Fraction) and exponent.denominator == 1:
        digits = max(len(str(base.numerator)), len(str(base.denominator)))
        if digits * abs(exponent) > _MOST_DIGITS:
            raise ValueError(f"the power has more than {_MOST_DIGITS:,} digits")
        return Fraction(base ** int(exponent))
    value: Any = float(base) ** float(exponent)
    if isinstance(value, complex):
        raise ValueError("the power is no real number")
    return float(value)


def _bounded(value: Any) -> Number:
    number: Number = Fraction(value) if isinstance(value, int) else value
    if isinstance(number, Fraction):
        size = max(abs(number.numerator), number.denominator)
        if size.bit_length() > 4 * _MOST_DIGITS:
            raise ValueError(f"a number has more than {_MOST_DIGITS:,} digits")
    return number


def calculate(expression: Annotated[str, Field(description="Such as (1.05 ** 10 - 1) * 2000")]) -> str:
    """Compute arithmetic: + - * / // % **, sqrt, log, exp, min, max, round and the like. Fractions stay exact."""
    try:
        return f"{expression.strip()} = {compute(expression)}"
    except ValueError as error:
        raise ToolError(str(error)) from None


if __name__ == "__main__":
    calculator = MCPServer("calculator")
    calculator.add_tool(calculate, structured_output=False)
    calculator.run()
