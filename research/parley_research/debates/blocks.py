"""A page as blocks, and the same blocks as Markdown and as HTML."""

import base64
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape

Level = Literal[1, 2, 3]


class Heading(msgspec.Struct, frozen=True, tag="heading"):
    """A heading; level 1 is the page's title."""

    level: Level
    text: str


class Words(msgspec.Struct, frozen=True, tag="words"):
    """A paragraph; what stands between back quotes is code."""

    text: str


class Items(msgspec.Struct, frozen=True, tag="items"):
    """A list; nothing where it is empty."""

    items: tuple[str, ...]


class Table(msgspec.Struct, frozen=True, tag="table"):
    """The first column is text, the others are figures."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Code(msgspec.Struct, frozen=True, tag="code"):
    """Lines as they are typed."""

    text: str


class Picture(msgspec.Struct, frozen=True, tag="picture"):
    """A plot. Its file stands beside the Markdown page; in HTML it is part of the page."""

    name: str
    says: str
    """What a reader who does not see it would want to know."""
    svg: str


Block = Heading | Words | Items | Table | Code | Picture


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """From any sequences."""
    return Table(caption, tuple(head), tuple(tuple(row) for row in rows))


def markdown(blocks: Iterable[Block], pictures: str) -> str:
    """The page; `pictures` is the folder of the plots, as the page names it."""
    parts: list[str] = []
    for block in blocks:
        match block:
            case Heading():
                parts.append(f"{'#' * block.level} {block.text}")
            case Words():
                parts.append(block.text)
            case Items():
                parts.append("\n".join(f"- {item}" for item in block.items))
            case Table():
                lines = [block.head, ["---", *["---:"] * (len(block.head) - 1)], *block.rows]
                cells = ("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
                parts.append(f"{block.caption}:\n\n" + "\n".join(cells))
            case Code():
                parts.append(f"```text\n{block.text}\n```")
            case Picture():
                parts.append(f"![{block.says.replace('`', '')}]({pictures}/{block.name}.svg)")
    return "\n\n".join(part for part in parts if part) + "\n"


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem; color: #1a1a1a;
  background: #fff }
table { border-collapse: collapse; margin: 1rem 0; font-size: .85rem; display: block; overflow-x: auto }
caption { text-align: left; font-weight: 600; padding: .3rem 0 }
th, td { border-bottom: 1px solid #d5d5d5; padding: .25rem .6rem; text-align: right; white-space: nowrap }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: #fff }
thead th { border-bottom: 2px solid #888 }
pre { background: #f3f3f3; padding: .7rem; overflow-x: auto }
figure { margin: 1rem 0; display: inline-block; max-width: 100% }
figure img { max-width: 100% }
figcaption { font-size: .85rem; color: #444 }
h2 { border-top: 1px solid #ccc; padding-top: 1rem; margin-top: 2.5rem }
</style>
</head>
<body>
<main>
{% for block in blocks %}
{%- if block.kind == "heading" %}
<h{{ block.level }}>{{ block.text | coded }}</h{{ block.level }}>
{%- elif block.kind == "words" %}
<p>{{ block.text | coded }}</p>
{%- elif block.kind == "items" %}
{%- if block.list %}
<ul>
{%- for item in block.list %}
<li>{{ item | coded }}</li>
{%- endfor %}
</ul>
{%- endif %}
{%- elif block.kind == "table" %}
<table>
<caption>{{ block.caption | coded }}</caption>
<thead><tr>{% for cell in block.head %}<th scope="col">{{ cell }}</th>{% endfor %}</tr></thead>
<tbody>
{%- for row in block.rows %}
<tr><th scope="row">{{ row[0] | coded }}</th>{% for cell in row[1:] %}<td>{{ cell | coded }}</td>{% endfor %}</tr>
{%- endfor %}
</tbody>
</table>
{%- elif block.kind == "code" %}
<pre>{{ block.text }}</pre>
{%- elif block.kind == "picture" %}
<figure><img src="data:image/svg+xml;base64,{{ block.data }}" alt="{{ block.says | replace('`', '') }}">
<figcaption>{{ block.says | coded }}</figcaption></figure>
{%- endif %}
{%- endfor %}
</main>
</body>
</html>
"""


def html(title: str, blocks: Iterable[Block]) -> str:
    """One page that needs no other file. Everything that it says is escaped."""
    made = Environment(autoescape=True, undefined=StrictUndefined)
    made.filters["coded"] = coded
    page = made.from_string(_PAGE)
    return page.render(title=title, blocks=[_plain(block) for block in blocks])


def coded(text: str) -> Markup:
    """The text, escaped; what stands between back quotes as code."""
    parts = text.split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if n % 2 else escape(part) for n, part in enumerate(parts)
    )


def _plain(block: Block) -> dict[str, object]:
    """What the template reads."""
    match block:
        case Heading():
            return {"kind": "heading", "level": block.level, "text": block.text}
        case Words():
            return {"kind": "words", "text": block.text}
        case Items():
            return {"kind": "items", "list": block.items}
        case Table():
            return {"kind": "table", "caption": block.caption, "head": block.head, "rows": block.rows}
        case Code():
            return {"kind": "code", "text": block.text}
        case Picture():
            data = base64.b64encode(block.svg.encode()).decode()
            return {"kind": "picture", "says": block.says, "data": data}
