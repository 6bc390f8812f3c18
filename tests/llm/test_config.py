"""Which model an agent uses: variables over files, and keys that stay where they belong."""

import copy
import pickle
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.agents.config import VARIABLES, environment, resolve, unmet_wish, variables_of
from parley.agents.endpoint import prices
from parley.agents.endpoint.transport import proxy_of
from parley.agents.models import ModelMisconfigured, make_model
from parley.agents.openai.options import parse
from parley.agents.openai.providers import PRESETS, Rung, family_of
from parley.agents.secrets import Secret, scrub
from parley.agents.specs import AgentSpec, builtin, load
from parley.agents.specs import parse as parse_spec
from parley.stack.services import model_of

ROOT = Path(__file__).parents[2]
KEY = "sk-very-secret-0123456789"


def spec(name: str = "panelist_1") -> AgentSpec:
    """A built-in agent."""
    found = builtin(name)
    assert found is not None
    return found


def options(environ: dict[str, str], of: AgentSpec | None = None) -> dict[str, Any]:
    """Options that come out, the key in clear."""
    found = resolve(of or spec(), environ)
    assert found.model == "openai"
    return {k: v.reveal() if isinstance(v, Secret) else v for k, v in found.options.items()}


def test_seat_over_role_over_global_over_file() -> None:
    file = parse_spec("{queue: panelist_2, roles: [panelist], model: openai, options: {model: f, temperature: 0.1}}")
    layers = {"LLM_MODEL": "g", "PANELIST_LLM_MODEL": "r", "PANELIST_2_LLM_MODEL": "s"}
    base = {"OPENAI_API_KEY": "k"}
    for taken, expected in ((0, "f"), (1, "g"), (2, "r"), (3, "s")):
        found = options(base | dict(list(layers.items())[:taken]), file)
        assert found == {"provider": "openai", "model": expected, "temperature": 0.1, "api_key": "k"}
    assert options(base | layers)["model"] == "r"


def test_seat_over_wish_over_role_over_global() -> None:
    loaded = load("expert_sre")
    assert loaded.expert is not None
    wishing = loaded.model_copy(update={"expert": msgspec.structs.replace(loaded.expert, model="gpt-5.1 (big)")})
    of_wish = "WISH_GPT_5_1__BIG__LLM_MODEL"
    layers = {"LLM_MODEL": "g", "EXPERT_LLM_MODEL": "r", of_wish: "w", "EXPERT_SRE_LLM_MODEL": "s"}
    for taken, expected in enumerate("grws", 1):
        environ = {"OPENAI_API_KEY": "k"} | dict(list(layers.items())[:taken])
        assert options(environ, wishing)["model"] == expected
        assert unmet_wish(wishing, environ) == ("" if taken > 2 else of_wish)
        assert unmet_wish(loaded, environ) == ""
    assert variables_of(wishing, {of_wish: "w", "OPENAI_API_KEY": "k", "WISH_OTHER_LLM_MODEL": "o"})[1].keys() == {
        of_wish, "OPENAI_API_KEY"
    }  # fmt: skip


def test_a_key_for_everybody_does_not_go_to_the_provider_of_a_wish() -> None:
    loaded = load("expert_sre")
    assert loaded.expert is not None
    wishing = loaded.model_copy(update={"expert": msgspec.structs.replace(loaded.expert, model="strong")})
    environ = {"LLM_PROVIDER": "openai", "LLM_MODEL": "g", "LLM_API_KEY": "k"}
    with pytest.raises(ModelMisconfigured, match="zhipu needs a key"):
        resolve(wishing, environ | {"WISH_STRONG_LLM_PROVIDER": "zhipu", "WISH_STRONG_LLM_MODEL": "glm"})


def test_a_file_that_names_another_model_is_overridden_by_its_seat_or_role_alone() -> None:
    file = parse_spec("{queue: panelist_1, roles: [panelist], model: extractive}")
    environ = {"LLM_MODEL": "g", "OPENAI_API_KEY": "k"}
    assert resolve(file, environ) == file
    assert resolve(file, environ | {"PANELIST_LLM_MODEL": "p"}).model == "openai"


@pytest.mark.parametrize(
    ("role", "encoder", "options", "model"),
    [
        ("helper", "", {}, "openai"),
        ("helper", "embedded", {}, "openai"),
        ("helper", "none", {}, "extractive"),
        ("helper", "", {"encoder": "none"}, "extractive"),
        ("check", "", {}, "extractive"),
    ],
)
def test_a_model_for_everybody_is_the_helpers_too_unless_it_has_an_encoder(
    role: str, encoder: str, options: dict[str, Any], model: str
) -> None:
    agent = AgentSpec(queue=role, roles=(role,), options=options)
    environ = {"LLM_MODEL": "g", "OPENAI_API_KEY": "k", "ENCODER": encoder}
    assert resolve(agent, environ).model == model
    assert resolve(agent, environ | {f"{role.upper()}_LLM_MODEL": "h"}).options["model"] == "h"
    own = resolve(agent, {"ENCODER": "none", "HELPER_ENCODER": encoder}).options.get("encoder")
    assert own == ((encoder or options.get("encoder") or "none") if role == "helper" else None)


def test_an_address_alone_is_a_compatible_server_that_needs_no_key() -> None:
    found = options({"LLM_BASE_URL": "http://127.0.0.1:1/v1/", "LLM_MODEL": "m", "OPENAI_API_KEY": "not-for-it"})
    assert found == {"provider": "openai_compatible", "base_url": "http://127.0.0.1:1/v1", "model": "m"}


@pytest.mark.parametrize(
    "nearer",
    [
        {"PANELIST_LLM_PROVIDER": "ollama", "PANELIST_LLM_MODEL": "m"},
        {"PANELIST_LLM_BASE_URL": "http://elsewhere/v1"},
        {
            "PANELIST_1_LLM_PROVIDER": "openai_compatible",
            "PANELIST_1_LLM_BASE_URL": "http://x/v1",
            "PANELIST_1_LLM_MODEL": "m",
        },
    ],
)
def test_a_key_goes_to_no_other_host(nearer: dict[str, str]) -> None:
    environ = {"LLM_PROVIDER": "openai", "LLM_MODEL": "g", "LLM_API_KEY": KEY, "OPENAI_API_KEY": KEY} | nearer
    assert "api_key" not in options(environ)
    assert options(environ, spec("analyst"))["api_key"] == KEY


def test_a_model_takes_no_key_that_was_not_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    environ = {"LLM_PROVIDER": "openai", "LLM_MODEL": "g", "LLM_API_KEY": KEY, "PANELIST_LLM_PROVIDER": "ollama",
               "PANELIST_LLM_MODEL": "m"}  # fmt: skip
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    keys = [model_of(spec(queue)).options.api_key for queue in ("panelist_1", "analyst")]  # type: ignore[attr-defined]
    assert keys[0] is None and isinstance(keys[1], Secret) and keys[1].reveal() == KEY


_SETTINGS = {
    "LLM_PROVIDER": ("openai", "ollama", "zhipu", "openai_compatible", "extractive"),
    "LLM_MODEL": ("m", "n"),
    "LLM_BASE_URL": ("http://a/v1", "http://b/v1"),
    "LLM_API_KEY": ("key-a", "key-b"),
    "LLM_TEMPERATURE": ("0.5",),
    "ENCODER": ("embedded", "none"),
}
_NAMES = {f"{prefix}{name}": values for prefix in ("", "PANELIST_", "PANELIST_1_", "HELPER_", "ANALYST_")
          for name, values in _SETTINGS.items()}  # fmt: skip
_NAMES |= {"OPENAI_API_KEY": ("key-o",), "ZAI_API_KEY": ("key-z",), "MINE": ("key-m",), "OTHER_TOKEN": ("key-x",)}
_FILES = (
    "{queue: panelist_1, roles: [panelist]}",
    "{queue: panelist_1, roles: [panelist], model: openai, options: {model: f, key_variable: MINE}}",
    "{queue: helper, roles: [helper]}",
    "{queue: helper, roles: [helper], model: extractive, options: {encoder: none}}",
    "{queue: panelist_1, roles: [panelist], model: extractive}",
)


def _plain(found: AgentSpec) -> tuple[str, str, set[str]]:
    """Model, options and keys."""
    keys: set[str] = set()

    def shown(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: shown(v) for k, v in value.items()}
        if isinstance(value, Secret):
            keys.add(value.reveal())
            return f"key {value.reveal()}"
        return value

    return found.model, repr(shown(found.options)), keys


@given(
    st.sampled_from(_FILES),
    st.lists(st.sampled_from([(name, value) for name, values in _NAMES.items() for value in values]), max_size=9),
)
def test_an_agents_own_variables_are_all_that_it_needs_and_no_other_key(
    text: str, pairs: list[tuple[str, str]]
) -> None:
    file, environ = parse_spec(text), dict(pairs)
    try:
        found = resolve(file, environ)
    except ModelMisconfigured:
        with pytest.raises(ModelMisconfigured):
            variables_of(file, environ)
        return
    same, own = variables_of(file, environ)
    model, options, keys = _plain(found)
    assert _plain(same) == _plain(resolve(file, own)) == (model, options, keys)
    assert {value for value in own.values() if value.startswith("key-")} == keys


def test_a_model_of_ones_own_gets_what_names_its_seat_or_role_and_the_key_that_it_names() -> None:
    file = parse_spec("{queue: panelist_1, roles: [panelist], model: 'mine:make', options: {key_variable: MINE}}")
    wanted = {"PANELIST_1_TOKEN": "a", "PANELIST_CACHE": "b", "MINE": "c"}
    _, own = variables_of(file, wanted | {"OPENAI_API_KEY": "x", "ANALYST_TOKEN": "y", "LLM_API_KEY": "z"})
    assert own == wanted


def test_keys_come_from_files_too(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(f"{KEY}\n")
    for name in ("LLM_API_KEY_FILE", "OPENAI_API_KEY_FILE", "PANELIST_1_LLM_API_KEY_FILE"):
        assert options({"LLM_MODEL": "m", name: str(tmp_path / "key")})["api_key"] == KEY


def test_dotenv_is_read_below_the_environment(tmp_path: Path) -> None:
    """And as editors leave it."""
    (tmp_path / ".env").write_bytes(b"\xef\xbb\xbfLLM_MODEL=m\r\n# c\nexport A = 'x # y' # c\r\nLLM_PROVIDER=\n")
    assert environment(tmp_path, {"LLM_MODEL": "own"}) == {"LLM_MODEL": "own", "A": "x # y", "LLM_PROVIDER": ""}
    assert environment(tmp_path / "none", {"A": "b"}) == {"A": "b"}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"# c\n\nLLM_MODEL=m\nLLM_API_KEY SECRET\n", "line 4: this is no assignment"),
        (b"\n\nSECRET\n", "line 3: this is no assignment"),
        (b"A=1\nLLM_API_KEY='SECRET\n", "line 2: this is no assignment"),
        ("A=1".encode("utf-16"), r"is not UTF-8 text \(byte 0\)"),
        (b"A=\xe9SECRET", r"is not UTF-8 text \(byte 2\)"),
    ],
)
def test_what_cannot_be_read_in_dotenv_is_named_and_never_shown(tmp_path: Path, data: bytes, said: str) -> None:
    (tmp_path / ".env").write_bytes(data.replace(b"SECRET", KEY.encode()))
    with pytest.raises(ModelMisconfigured, match=rf"\.env,? {said}") as found:
        environment(tmp_path, {})
    assert KEY not in str(found.value) and "Unicode" not in str(found.value)


def test_another_provider_in_the_environment_takes_nothing_of_the_files(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(
        f"LLM_PROVIDER=zhipu\nLLM_MODEL=glm\nLLM_API_KEY={KEY}\nPANELIST_LLM_MODEL=p\nLLM_CONCURRENCY=2\n"
    )
    found = environment(tmp_path, {"LLM_PROVIDER": "extractive"})
    assert found == {"LLM_PROVIDER": "extractive", "PANELIST_LLM_MODEL": "p", "LLM_CONCURRENCY": "2"}
    found = environment(tmp_path, {"LLM_PROVIDER": "openai", "LLM_MODEL": "g"})
    assert found["LLM_MODEL"] == "g" and "LLM_API_KEY" not in found, "a key goes to its own provider"
    same = environment(tmp_path, {"LLM_PROVIDER": "zhipu"})
    assert (same["LLM_MODEL"], same["LLM_API_KEY"]) == ("glm", KEY)


def test_the_shipped_example_names_every_variable_and_sets_none(tmp_path: Path) -> None:
    text = (ROOT / ".env.example").read_text()
    (tmp_path / ".env").write_text(text)
    assert {k: v for k, v in environment(tmp_path, {}).items() if v} == {}
    for name in (*VARIABLES, *(key for p in PRESETS.values() for key in p.keys)):
        assert name in text, name


BAD: list[tuple[dict[str, str], str]] = [
    ({"LLM_PROVIDER": "opnai", "LLM_MODEL": "m"}, "LLM_PROVIDER: provider: got 'opnai'; did you mean openai?"),
    (
        {"LLM_PROVIDER": "ollama", "PANELIST_LLM_PROVIDER": "extractive", "PANELIST_LLM_MODEL": "m"},
        "^PANELIST_LLM_PROVIDER is extractive.*PANELIST_LLM_MODEL",
    ),
    ({"LLM_PROVIDER": "openai", "LLM_MODEL": "m"}, "provider openai needs a key: set OPENAI_API_KEY or LLM_API_KEY"),
    ({"LLM_PROVIDER": "openai_compatible", "LLM_MODEL": "m"}, "set LLM_BASE_URL"),
    ({"LLM_MODEL": "m", "LLM_API_KEY": KEY, "LLM_API_KEY_FILE": "/k"}, "LLM_API_KEY and LLM_API_KEY_FILE are both set"),
    ({"LLM_MODEL": "m", "OPENAI_API_KEY_FILE": "/no/such"}, "OPENAI_API_KEY_FILE: .* cannot be read"),
    ({"LLM_MODEL": "m", "LLM_API_KEY": KEY, "LLM_TEMPERATURE": "inf"}, "got 'inf', expected a finite number"),
    ({"LLM_MODEL": "m", "LLM_API_KEY": f"{KEY}é"}, "LLM_API_KEY: a key has printable ASCII characters"),
    ({"LLM_MODEL": "m", "LLM_API_KEY": KEY, "LLM_USD_PER_MILLION_INPUT": "-1"}, "LLM_USD_PER_MILLION_INPUT: got -1"),
]


@pytest.mark.parametrize("environ, message", BAD, ids=[m[:40] for _, m in BAD])
def test_a_mistake_is_named_with_its_variable_and_without_a_key(environ: dict[str, str], message: str) -> None:
    with pytest.raises(ModelMisconfigured, match=message) as found:
        resolve(spec(), environ)
    assert KEY not in str(found.value)


URL = {"base_url": "http://h/v1", "model": "m"}
BAD_OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"modle": "x"}, "options.modle: no such option; did you mean model?"),
    ({**URL, "base_url": "https://api.anthropic.com/v1", "temperature": 1.5}, "allowed is 0 to 1"),
    ({**URL, "concurrency": 0}, "options.concurrency"),
    ({**URL, "structured": "xml"}, "options.structured: got 'xml', allowed are json_schema, json_object, text"),
    ({**URL, "base_url": f"https://u:{KEY}@h/v1"}, "keys do not belong in an address"),
    ({**URL, "api_key": KEY}, "keys do not belong in agent files"),
    ({**URL, "usd_per_million_input": 1}, "options.usd_per_million_output: a price is two numbers"),
    ({**URL, "key_variable": "NOT_SET_HERE"}, "set NOT_SET_HERE"),
    ({**URL, "prices": "/no/such.yaml"}, "prices: /no/such.yaml cannot be read"),
]


@pytest.mark.parametrize("given, message", BAD_OPTIONS, ids=[m[:40] for _, m in BAD_OPTIONS])
def test_a_bad_option_is_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelMisconfigured, match=message) as found:
        parse(given, {})
    assert KEY not in str(found.value)


@pytest.mark.parametrize(
    "table, message",
    [
        ("- {model: a, input: -2, output: 1}", r"row 1 \(a\): input: got -2, a price is not negative"),
        ("- {model: a, input: 1, output: .nan}", "row 1 .*output: got nan"),
        ("- {model: a, input: 1, cached: 1}", "row 1: expected the fields model, input, output, and cached if you"),
        ("a: 1", "a list of rows"),
        ("- {model: a, input: 1,\n   input: 2, output: 1}", "p.yaml, line 2: the key input stands here again"),
    ],
)
def test_a_bad_price_table_is_named(tmp_path: Path, table: str, message: str) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(table)
    with pytest.raises(ModelMisconfigured, match=message):
        parse({**URL, "prices": str(path)}, {})


def test_prices_by_the_first_pattern_that_matches() -> None:
    table = prices.load()
    cheap, full = prices.price_of("gpt-5-mini-2025", table), prices.price_of("openai/GPT-5", table)
    assert cheap is not None and full is not None and 0 < cheap.input < full.input
    assert prices.price_of("nobody-knows", table) is None
    assert prices.Price(input=2, output=10).of(1_000_000, 100_000) == 3.0
    assert full.cached is not None and full.cached < full.input


def test_a_price_that_is_not_known_is_told_and_a_local_model_is_free() -> None:
    assert parse(URL, {}).price is None
    assert parse({"provider": "ollama", "model": "x"}, {}).price == prices.Price()
    own = parse({**URL, "usd_per_million_input": 1, "usd_per_million_output": 2}, {})
    assert own.price == prices.Price(input=1.0, output=2.0)
    listed = {"base_url": URL["base_url"], "model": "gpt-5-mini", "usd_per_million_cached": 0.5}
    assert parse(listed, {}).price == prices.Price(input=0.25, output=2.0, cached=0.5)
    assert parse({**URL, "usd_per_million_cached": 0.5}, {}).price is None, "that of cached input alone is no price"


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_makes_a_model(name: str) -> None:
    preset = PRESETS[name]
    given = {"provider": name, "model": "m"} | ({} if preset.base_url else {"base_url": "http://h/v1"})
    found = parse(given, dict.fromkeys(preset.keys, KEY))
    assert found.highest_rung is preset.rung and (found.api_key is not None) == bool(preset.keys)
    assert make_model("openai", given | ({"api_key": Secret(KEY)} if preset.keys else {})).metered


def test_what_is_known_of_a_host_is_known_of_its_address_too() -> None:
    assert parse({"provider": "zhipu"}, {"ZAI_API_KEY": KEY}).model == "glm-4.7", "its usual model"
    found = parse({"base_url": "https://api.anthropic.com/v1/", "model": "m"}, {})
    assert found.highest_rung is Rung.TEXT and found.base_url == "https://api.anthropic.com/v1"
    assert [family_of(m, "x") for m in ("openai/gpt-5", "Qwen3:8b", "zephyr")] == ["gpt", "qwen", "x"]


def test_a_secret_shows_itself_nowhere() -> None:
    secret = Secret(KEY)
    assert secret.reveal() == KEY and f"{secret} {secret!r} {[secret]} {secret:>3}" == "*** *** [***] ***"
    assert repr(resolve(spec(), {"LLM_MODEL": "m", "LLM_API_KEY": KEY})).count(KEY) == 0
    assert copy.deepcopy(secret) is secret
    for fails in (pickle.dumps, msgspec.json.encode):
        with pytest.raises(TypeError):
            fails(secret)
    assert scrub(f"a\x1b {KEY} https://h/x?key=1 Bearer abc.def", secret) == "a *** (address) ***"


@pytest.mark.parametrize(
    ("named", "url", "proxy"),
    [
        ({"http_proxy": "http://p:1"}, "http://model.test/v1", "http://p:1"),
        ({"http_proxy": "http://p:1"}, "https://model.test/v1", None),
        ({"all_proxy": "http://p:1"}, "https://model.test/v1", "http://p:1"),
        ({"http_proxy": "http://p:1", "no_proxy": "model.test:81"}, "http://model.test:81/v1", None),
        ({"http_proxy": "http://p:1", "no_proxy": "model.test:81"}, "http://model.test:82/v1", "http://p:1"),
        ({"http_proxy": "http://p:1"}, "http://127.0.0.1:81/v1", None),
    ],
)
def test_the_environments_proxy_is_asked_for_other_machines_alone(
    monkeypatch: pytest.MonkeyPatch, named: dict[str, str], url: str, proxy: str | None
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in named.items():
        monkeypatch.setenv(name, value)
    assert proxy_of(url) == proxy
