"""A folder to begin in: a panel of three, settings that name it, and a question with documents."""

_ENV = """\
# Which language model the agents use, in every protocol; the environment goes over this file. While nothing is set,
# agents answer from documents alone (model `extractive`: no key, no download). `parley doctor` says what is missing.

# Providers: openai, anthropic, gemini, deepseek, zhipu, openrouter, mistral, groq, ollama, vllm, llama.cpp,
# lmstudio, openai_compatible (with LLM_BASE_URL).
#LLM_PROVIDER=ollama
#LLM_MODEL=qwen3:8b
# Where it is, if not at the provider's usual address.
#LLM_BASE_URL=http://127.0.0.1:11434/v1

# The key, or the same with _FILE and the name of a file that holds it.
#LLM_API_KEY=
#OPENAI_API_KEY=

# For one role or one seat: the same names with a prefix.
#ANALYST_LLM_PROVIDER=extractive
#PANELIST_2_LLM_MODEL=llama3.2
"""

_PANEL = """\
# The model of each seat. A protocol that has no seat of a name here seats whom it needs, on the model of .env.
# Variables of a seat, of its role or for everybody (.env) go over this file. A seat that names no model takes what they
# say, else extractive.
seats:
  panelist_1: {}
  panelist_2: {}
  panelist_3: {}
  analyst: {}

# Fields of a seat:
#   provider: ollama              with model: its name for the model
#   model: "qwen3:8b"             without provider: extractive, or module:attribute
#   base_url: http://127.0.0.1:8000/v1
#   key_variable: TEAM_KEY        the variable that holds the key; a key itself does not belong here
#   temperature: 0.3
#   expertise: [storage, backup]  counts more on questions that name it
#   weight: 1.5
#   copies: 2                     processes that share the seat and its one vote
#   role: panelist                where the seat's name does not say it
#   spec: agents/storage.yaml     an agent file in place of all this
"""

_SETTINGS = """\
# Settings; the environment (PARLEY__CONSENSUS__ROUND_LIMIT=3) and the command line go over them.
panel_file: panel.yaml
#budget: {cost_usd: 1.0, tokens: 500000}
#consensus: {threshold: 90, round_limit: 5}
#retention: {log_days: 90}
"""

_QUESTION = "Which rollout should we use for the new payment service: canary or big-bang?\n"

_EVIDENCE = {
    "panelist_1/canary-trial.md": """\
# Canary trial

The canary was the safest of the methods in this trial: six of seven faults were caught while few payments met them. We
recommend the canary for services that move money. A canary rollout took two days longer than a big-bang rollout.
""",
    "panelist_2/incidents.md": """\
# Incidents

The last big-bang rollout of the payment service failed and was rolled back after three hours. With the canary, no
payment was lost in the incidents of the last year.
""",
    "panelist_3/calendar.md": """\
# Calendar

The canary fits the calendar: two days are left before the freeze. A big-bang rollout is cheaper to staff by six hours.
""",
}

FILES = {
    ".env": _ENV,
    "panel.yaml": _PANEL,
    "parley.yaml": _SETTINGS,
    "example/question.txt": _QUESTION,
    **{f"example/evidence/{name}": text for name, text in _EVIDENCE.items()},
}
"""File -> what is written into it."""
