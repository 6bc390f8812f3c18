"""What the tools take, each option declared once; and what is said of arguments that cannot be right.

The library makes a tool's schema from its function's signature. `flat` gives a function of one model of options the
signature of that model, so that tools share options. `CheckedTool` refuses arguments that a tool does not take, and
says in one sentence which option is wrong, what was given and what is allowed.
"""

import difflib
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Literal, Self, TypeVar, get_type_hints

from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools.base import Tool
from pydantic import BaseModel, Field, ValidationError, create_model

from parley.client.protocols import all_setups, panel_setup
from parley.client.setup.options import taken
from parley.client.text import clean
from parley.schemas.wire import model_fault
from parley.web.mcp.following import Asking

PANEL = panel_setup().name
"""The protocol in which a panel debates."""
_ABOUT = "\n".join(f"- {setup.name}: {setup.about}" for setup in all_setups())
"""A line for each protocol."""
_SHOWN = 80


class AskArguments(BaseModel):
    """A question, and what comes with it."""

    question: Annotated[str, Field(description="What they argue about.", min_length=1, max_length=20_000)]
    projectPath: Annotated[
        str | None,
        Field(
            description="A folder whose texts everybody gets as documents. It lies under a root that the server allows."
        ),
    ] = None
    context: Annotated[
        str | None, Field(description="Further context in words, which everybody gets as a document.")
    ] = None


class Iterations(AskArguments):
    """A debate of a panel, with the source's parameters."""

    maxIterations: Annotated[
        int | None,
        Field(description="Largest number of rounds. Default: 5.", json_schema_extra={"minimum": 1, "maximum": 50}),
    ] = None
    consensusThreshold: Annotated[
        float | None,
        Field(
            description="Agreement from which they stop, above 0 to 100. Default: 90.",
            json_schema_extra={"exclusiveMinimum": 0, "maximum": 100},
        ),
    ] = None


def _session() -> type[AskArguments]:
    """A session of any protocol, of the options that every door takes."""
    fields: dict[str, Any] = {}
    for option in taken("mcp"):
        place, _, part = option.setting.partition(".")
        if part:
            limits = ", ".join(o.setting.partition(".")[2] for o in taken("mcp") if o.setting.startswith(f"{place}."))
            fields[place] = _told(dict[str, Any] | None, f"Limits of the session: {limits}.")
        else:
            kind = option.kind | Literal[option.words] if option.words else option.kind
            fields[place] = _told(kind, option.help)
    told = f"The protocol, or a saved panel of this server. Default: chosen by the question. The protocols:\n{_ABOUT}"
    fields["protocol"] = _told(str | None, told)
    return create_model("Session", __base__=AskArguments, **fields)


def _told(kind: Any, told: str) -> tuple[Any, None]:
    """An option that may be left out. What it says stands with its type, from which `flat` makes the signature."""
    return Annotated[kind, Field(description=told)], None


SESSION = _session()
R = TypeVar("R")


def flat(
    tool: Callable[[Mapping[str, Any], Asking], Awaitable[R]], model: type[BaseModel]
) -> Callable[..., Awaitable[R]]:
    """A function of options as one that takes each option of a model by its name."""

    async def called(ctx: Asking, **arguments: Any) -> R:
        return await tool(arguments, ctx)

    options, result = get_type_hints(model, include_extras=True), get_type_hints(tool)["return"]
    parameters = [inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Asking)]
    for name, field in model.model_fields.items():
        default = inspect.Parameter.empty if field.is_required() else field.get_default()
        kind = inspect.Parameter.KEYWORD_ONLY
        annotation = options.get(name, Annotated[field.annotation, field])
        parameters.append(inspect.Parameter(name, kind, annotation=annotation, default=default))
    called.__name__, called.__doc__ = tool.__name__, tool.__doc__
    called.__signature__ = inspect.Signature(parameters, return_annotation=result)  # type: ignore[attr-defined]
    called.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": result}
    return called


class CheckedTool(Tool):
    """A tool that says in one sentence what is wrong with its arguments."""

    @classmethod
    def of(cls, tool: Callable[..., Any], **more: Any) -> Self:
        """Of a function. `more`: as Tool.from_function."""
        made = cls.model_validate(dict(Tool.from_function(tool, **more)))
        made.parameters["additionalProperties"] = False
        return made

    async def run(self, arguments: dict[str, Any], context: Any, convert_result: bool = False) -> Any:
        """Run it. Raises ToolError, without the words that the library puts before."""
        taken: Mapping[str, Any] = self.parameters["properties"]
        for name in arguments:
            if name not in taken:
                near = difflib.get_close_matches(name, taken, 1)
                meant = f"did you mean {near[0]}? It takes" if near else "it takes"
                known = ", ".join(taken)
                raise ToolError(f"{clean(name)[:_SHOWN]}: {self.name} takes no such option; {meant} {known}")
        try:
            return await super().run(arguments, context, convert_result)
        except UnexpectedToolError:
            raise
        except ToolError as error:
            cause = error.__cause__
            if isinstance(cause, ValidationError):
                place, why = model_fault(cause.errors(include_url=False)[0])
                raise ToolError(clean(f"{place}: {why}")) from error
            raise ToolError(str(cause) if isinstance(cause, ToolError) else str(error)) from error
