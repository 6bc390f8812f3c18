"""The baseline of 3.2 and 3.3, and what a prompt says it does not want."""

import pytest

from parley.agents.expert_matching import keyword_baseline
from parley.agents.expert_matching.word_roots import read_prompt, root, roots, stands_in
from parley.agents.text.languages import is_foreign
from parley.schemas.expert import Deliberation, Domain, ExpertSpec, Reviews, Triggers
from parley.schemas.routing import Task


def expert(name: str, primary: tuple[str, ...], **given: object) -> ExpertSpec:
    more = {key: given.pop(key) for key in ("secondary", "files", "examples") if key in given}
    domain = {key: given.pop(key) for key in ("owns", "defers") if key in given}
    return ExpertSpec(
        id=name, name=name, triggers=Triggers(primary=primary, **more),  # type: ignore[arg-type]
        domain=Domain(**{"owns": (f"all about {name}",), **domain}),  # type: ignore[arg-type]
        deliberation=Deliberation(claim=f"I own {name}."), **given,  # type: ignore[arg-type]
    )  # fmt: skip


SQL = expert("data", ("database", "query"), secondary=("index",), files=("*.sql", "migrations/*"), priority=5)
WEB = expert("web", ("CSS", "login form"), secondary=("button",), files=("*.css",), priority=3)
ANY = expert("any", ("database",), category="general")
SAFE = expert("safe", ("password",), category="security", reviews=Reviews(of=("login", "password")))
AUDIT = expert("audit", ("code review",), reviews=Reviews(always=True))


@pytest.mark.parametrize(
    ("prompt", "files", "score"),
    [
        ("The DATABASE is slow", (), 0.3),
        ("a query against the database", (), 0.6),
        ("the index of the database", (), 0.45),
        ("reindexing", (), 0.15),  # a bare string: 3.3's includes()
        ("look", ("db/init.sql", "app/migrations/1.py", "x.css"), 0.2),
        ("a query of the database, by index", tuple(f"{i}.sql" for i in range(9)), 1.0),  # no more than 1
        ("nothing", (), 0.0),
    ],
)
def test_the_score_of_3_3(prompt: str, files: tuple[str, ...], score: float) -> None:
    assert keyword_baseline.score(SQL, Task(prompt=prompt, files_mentioned=files)) == pytest.approx(score)


@pytest.mark.parametrize(
    ("prompt", "vague"), [("improve it", True), ("Make Better tea", True), ("a prefix", True), ("add a button", False)]
)
def test_vague_verbs_as_3_2_lists_them(prompt: str, vague: bool) -> None:
    assert keyword_baseline.contains_vague_verbs(prompt) is vague


def test_the_variance_is_the_populations() -> None:
    assert keyword_baseline.variance([0.2, 0.4, 0.9]) == pytest.approx(0.26 / 3)
    assert keyword_baseline.variance([0.7]) == keyword_baseline.variance([]) == 0.0


def test_the_baseline_ranks_by_score_then_priority_and_names_reviewers_and_the_general_one() -> None:
    found = keyword_baseline.match(Task(prompt="database and css for the login"), (SQL, ANY, SAFE, AUDIT, WEB))
    assert [(c.expert, c.confidence) for c in found.candidates] == [("web", 0.3), ("data", 0.3)]
    assert found.general == "any" and found.reviewers == ("safe", "audit")
    assert {p.expert for p in found.profiles} == {"web", "data", "any", "safe", "audit"}
    assert found.factors.candidate_count == 2 and found.factors.scope_definition and not found.security
    none = keyword_baseline.match(Task(prompt="bake a cake"), (SQL, WEB))
    assert none.candidates == () and none.general == "" and not none.factors.scope_definition


def test_a_security_expert_with_a_score_from_low_on_makes_a_task_security_critical() -> None:
    assert keyword_baseline.match(Task(prompt="reset my password"), (SQL, SAFE)).security
    assert not keyword_baseline.match(Task(prompt="reset my index"), (SQL, SAFE)).security


def test_domains_overlap_where_neither_leaves_it_to_the_other() -> None:
    leaving = expert("page", ("page",), defers={"data": "queries"})
    assert keyword_baseline.has_overlapping_domains([(SQL, 0.5), (WEB, 0.6)], "a page with a query")
    assert not keyword_baseline.has_overlapping_domains([(SQL, 0.5), (WEB, 0.9)], "a page with a query")
    assert not keyword_baseline.has_overlapping_domains([(SQL, 0.5), (leaving, 0.6)], "a page with a query")
    assert keyword_baseline.has_overlapping_domains([(SQL, 0.5), (leaving, 0.6)], "a page with a button")
    one, two = (
        expert("one", ("a",), owns=("query plans of databases",)),
        expert("two", ("b",), owns=("plans of queries",)),
    )
    assert keyword_baseline.has_overlapping_domains([(one, 0.1), (two, 0.9)], "tea")


@pytest.mark.parametrize(
    ("text", "wanted", "unwanted"),
    [
        ("do not touch the database, just fix the login form", "fix login form", "touch databas"),
        ("Refactor UserService without changing the UI", "refactor user servic", "chang ui"),
        ("not the frontend, the API is slow", "api slow", "frontend"),
        ("speed up the report but don't change the schema", "spe report", "chang schema"),
        ("No new tests please, only the parser", "parser", "test"),
        ("This isn't about the database, it's the CSS", "css", "isn't databas"),
        ("Everything except the mobile app should get icons", "icon", "except mobil app"),
        ("the login does not work", "login work", ""),
        ("deploy without downtime", "deploy downtim", ""),
        ("why doesn't it use my index?", "doesn't index", ""),
    ],
)
def test_a_negation_that_excludes_and_one_that_describes(text: str, wanted: str, unwanted: str) -> None:
    found = read_prompt(text)
    assert (" ".join(found.wanted), " ".join(found.unwanted)) == (wanted, unwanted)


@pytest.mark.parametrize(
    "text",
    [
        "do not touch the database", "no database changes please", "leave the billing alone", "not the frontend",
        "please don't change the API, and leave the tests alone", "hands off the billing", "forget the database",
        "this isn't about the database", "we don't need a mobile app", "hello, without touching the UI please",
    ],
)  # fmt: skip
def test_who_only_sets_something_aside_asks_for_nothing(text: str) -> None:
    found = read_prompt(text)
    assert (found.wanted_text, found.wanted) == ("", ()) and found.unwanted


@pytest.mark.parametrize(
    "text",
    [
        "Don't deploy on Fridays", "never log passwords", "no more flaky tests", "avoid full table scans",
        "skip lines that begin with a hash", "don't use eval in templates", "no index on the orders table",
        "never change a released migration", "users forget their password", "don't forget the tests",
    ],
)  # fmt: skip
def test_a_rule_is_wanted_although_it_is_put_as_a_negation(text: str) -> None:
    found = read_prompt(text)
    assert found.wanted_text == text and found.wanted and not found.unwanted


def test_inflections_have_one_root() -> None:
    for family in (
        "authenticate authenticated authentication",
        "scale scalable scalability scaling",
        "deploy deployed",
    ):
        assert len({root(w) for w in family.split()}) == 1, family
    assert root("test") != root("latest")


def test_a_phrase_stands_in_a_text_where_its_words_stand_near() -> None:
    assert stands_in(roots("API design"), read_prompt("design of the public API").wanted)
    far = "the API answers slowly since we have another proxy, and somebody should look at its visual design"
    assert not stands_in(roots("API design"), read_prompt(far).wanted)
    assert not stands_in((), ("a",))


@pytest.mark.parametrize(
    ("text", "foreign"),
    [
        ("Die Tests schlagen fehl, bitte repariere den Code", True),
        ("¿Quién puede ver las direcciones de los clientes?", True),
        ("Почините сборку", True),
        ("add an index to the orders table", False),
        ("fix it", False),
        ("Rename the café menu", False),
    ],
)
def test_another_language_is_told_by_its_letters_and_small_words(text: str, foreign: bool) -> None:
    assert is_foreign(text) is foreign
