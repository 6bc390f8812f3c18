"""Experts' specifications: those that come with Parley, files of one's own, and every way in which one is refused."""

from pathlib import Path

import pytest

from parley.agents import experts
from parley.agents.experts import ExpertError, builtin, load_spec, read_all, read_text
from parley.schemas.expert import MAX_SPEC, ExpertSpec, pin
from parley.schemas.wire import decode, encode

GOOD = """agent:
  id: gardener
  name: Gardener
  triggers: {primary: [hedge, lawn]}
  domain: {owns: [plants]}
  deliberation: {claim: I look after whatever grows.}
"""
FULL = """agent:
  id: gardener
  name: Gardener
  version: "2.1"
  triggers:
    primary: [hedge]
    secondary: [soil]
    files: ["beds/*"]
    examples: [The roses look sad.]
  domain:
    owns: [plants]
    defers:
      - plumber: pipes
      - mason: walls
  deliberation:
    claim: I look after
      whatever grows.
    confidence: {high: 0.9, medium: 0.6, low: 0.2}
    handoff_when: [the bed is dug]
  reviews: {always: true, of: [fences]}
  category: outdoors
  priority: 7
"""

LONG = [f"{i:02} {'x' * 196}" for i in range(40)]


def altered(old: str, new: str) -> str:
    assert GOOD.count(old) == 1, old
    return GOOD.replace(old, new)


def also(field: str) -> str:
    return altered("name: Gardener", f"name: Gardener\n  {field}")


def other(id: str, more: str = "") -> ExpertSpec:
    text = altered("id: gardener", f"id: {id}").replace("whatever grows", f"whatever is {id}")
    return read_text(text.replace("[plants]", f"[plants]{more}"))


# ---------------------------------------------------------------- those that come with Parley


def test_the_shipped_experts_are_thirteen_and_one_for_everything_else() -> None:
    ids = [spec.id for spec in builtin()]
    assert ids == sorted(set(ids)) and len(ids) == 14
    assert [spec.id for spec in builtin() if spec.general] == ["generalist"]
    assert {spec.category for spec in builtin()} == {"engineering", "general", "security"}
    assert len({spec.priority for spec in builtin()}) == 14
    reviews = {spec.id: spec.reviews.always for spec in builtin() if spec.reviews}
    assert reviews == {"implementation-auditor": True, "qa-engineer": False, "security-architect": False}


def test_each_file_is_named_after_its_expert_and_pinned_apart() -> None:
    names = {path.stem for path in experts.BUILTIN.glob("*.yaml")}
    assert names == {spec.id for spec in builtin()}
    assert len({pin(spec) for spec in builtin()}) == 14
    assert all(load_spec(experts.BUILTIN / f"{spec.id}.yaml") == spec for spec in builtin())


def test_they_warn_of_nothing_and_defer_to_one_another() -> None:
    assert experts.warnings(builtin()) == []
    by_id = {spec.id: spec for spec in builtin()}
    for spec in builtin():
        assert 3 <= len(spec.domain.defers) <= 5 and set(spec.domain.defers) < set(by_id), spec.id
        assert not any(by_id[name].general for name in spec.domain.defers), spec.id


def test_every_field_is_read() -> None:
    spec = read_text(FULL)
    said = (spec.id, spec.name, spec.version, spec.category, spec.priority)
    assert said == ("gardener", "Gardener", "2.1", "outdoors", 7)
    assert (spec.triggers.primary, spec.triggers.secondary) == (("hedge",), ("soil",))
    assert (spec.triggers.files, spec.triggers.examples) == (("beds/*",), ("The roses look sad.",))
    assert spec.domain.defers == {"plumber": "pipes", "mason": "walls"}
    assert spec.deliberation.claim == "I look after whatever grows."
    thresholds = spec.deliberation.confidence
    assert (thresholds.high, thresholds.medium, thresholds.low) == (0.9, 0.6, 0.2)
    assert spec.deliberation.handoff_when == ("the bed is dug",)
    assert spec.reviews is not None and spec.reviews.always and spec.reviews.of == ("fences",)


def test_the_pin_is_of_what_is_said_and_not_of_how_it_is_written() -> None:
    spec = read_text(FULL)
    lines = FULL.splitlines()
    shuffled = "\n".join([lines[0], *lines[20:], *lines[1:20]])
    assert shuffled != FULL and pin(read_text(shuffled)) == pin(spec)
    mapped = FULL.replace("      - plumber: pipes\n      - mason: walls", "      mason: walls\n      plumber: pipes")
    assert mapped != FULL and pin(read_text(mapped)) == pin(spec)
    assert pin(decode(encode(spec), ExpertSpec)) == pin(spec)
    assert pin(read_text(FULL.replace("walls", "fences"))) != pin(spec)
    assert pin(read_text(FULL.replace("[hedge]", "[hedge, lawn]"))) != pin(
        read_text(FULL.replace("[hedge]", "[lawn, hedge]"))
    )


@pytest.mark.parametrize(
    ("text", "field", "why"),
    [
        ("a: [", "", "is not YAML"),
        ("agent: x", "agent", "got 'x', expected a mapping of id, name, version"),
        (GOOD + GOOD, "", "the key agent stands here again, first in line 1"),
        (altered("name: Gardener", "naem: Gardener"), "naem", "did you mean name?"),
        (altered("name: Gardener", 'name: Gardener\n  "\\e[2J": 1'), "'\\x1b[2J'", "no such field"),
        (also("version: 1.0"), "version", "got 1.0, expected a text (in quotes"),
        (altered("id: gardener", "id: The Gardener"), "id", "got 'The Gardener', wanted are 1 to 40 of a-z"),
        (altered("id: gardener", "id: stop"), "id", "nobody, reject, revise, stop mean something else"),
        (altered("{primary: [hedge, lawn]}", str(dict.fromkeys(("primary", "secondary", "files", "examples"), LONG))),
         "specification", f"allowed are at most {MAX_SPEC:,}"),
        (also("priority: 100"), "priority", "got 100, expected a whole number <= 99"),
        (altered("[hedge, lawn]", "[hedge, 3]"), "triggers.primary[1]", "got 3, expected a text"),
        (altered("[plants]", "[plants], defers: [gardener: x]"), "domain.defers", "does not defer to itself"),
        (altered("[plants]", "[plants], defers: [a: x, b: y, a: z]"), "domain.defers", "'a' stands twice"),
        (altered("[plants]", "[plants], defers: {A B: x}"), "domain.defers", "got 'A B', it is no expert's id"),
        (altered("grows.", "grows, confidence: {high: 2}"), "deliberation.confidence.high", "got 2.0, allowed"),
        (altered("grows.", "grows, confidence: {high: 0.4}"), "deliberation.confidence", "low <= medium <= high"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_named(text: str, field: str, why: str) -> None:
    with pytest.raises(ExpertError) as refused:
        read_text(text, "own.yaml")
    assert refused.value.field == field
    assert why in refused.value.why
    assert str(refused.value) == (f"own.yaml: {field}: " if field else "own.yaml: ") + refused.value.why


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("name: Gardener", 'name: "a\\eb"', "name"),
        ("[plants]", '[plants], defers: [a: "a\\eb"]', "domain.defers.a"),
        ("I look after whatever grows.", '"a\\eb"', "deliberation.claim"),
    ],
)
def test_control_characters_are_refused_in_every_text(old: str, new: str, field: str) -> None:
    for escape, shown in (("\\e", "U+001B"), ("\\u202e", "U+202E"), ("\\0", "U+0000"), ("\\t", "U+0009")):
        with pytest.raises(ExpertError) as refused:
            read_text(altered(old, new.replace("\\e", escape)))
        assert refused.value.field == field and shown in refused.value.why
    assert read_text(altered(old, new.replace("\\e", "é "))).id == "gardener"


# ---------------------------------------------------------------- folders


def test_a_folder_is_read_by_id(tmp_path: Path) -> None:
    (tmp_path / "1.yaml").write_text(altered("id: gardener", "id: plumber"), encoding="utf-8-sig")
    (tmp_path / "2.yml").write_text(GOOD)
    (tmp_path / "notes.txt").write_text("no expert")
    (tmp_path / ".3.yaml").write_text("no expert")
    assert [spec.id for spec in read_all(tmp_path)] == ["gardener", "plumber"]


def test_folders_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(ExpertError, match="has no specification"):
        read_all(tmp_path)
    with pytest.raises(ExpertError, match="is not a folder"):
        read_all(tmp_path / "none")
    first, second = tmp_path / "a.yaml", tmp_path / "b.yaml"
    first.write_text(GOOD)
    second.write_text(GOOD)
    with pytest.raises(ExpertError) as refused:
        read_all(tmp_path)
    assert (refused.value.source, refused.value.field) == (str(second), "id")
    assert refused.value.why == f"got 'gardener', which {first} has already"
    second.write_text("agent: {}")
    with pytest.raises(ExpertError, match=r"b\.yaml: id: it is missing"):
        read_all(tmp_path)


def test_warnings_of_what_is_hardly_meant() -> None:
    good = (other("gardener", ", defers: [plumber: pipes]"), other("plumber"))
    assert experts.warnings(good) == []
    assert experts.warnings(good[:1]) == ["gardener: domain.defers: got 'plumber', no expert is known"]
    near = (other("gardener", ", defers: [plumer: pipes]"), other("plumber"))
    assert experts.warnings(near) == ["gardener: domain.defers: got 'plumer', did you mean plumber?"]
    twin = read_text(altered("id: gardener", "id: twin").replace("I look", "I LOOK"))
    assert experts.warnings((read_text(GOOD), twin)) == ["twin: deliberation.claim: it is the same as that of gardener"]
    twice = read_text(altered("[hedge, lawn]", "[hedge], secondary: [Hedge]"))
    assert experts.warnings((twice,)) == ["gardener: triggers: 'Hedge' stands twice, and counts twice"]
