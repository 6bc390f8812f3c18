"""madp: what a lead says that it ran, tested, read, added or changed, against the record of what the machine saw.

Only a sentence that plainly claims counts: one that denies, supposes or asks claims nothing. Words of English, and the
usual ones of German and French, are known. A claim that the record does not hold is marked, and left out of the result.
"""

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from typing import Literal, NamedTuple

from parley.coordinator.protocols.madp.evidence.proof import EMPTY
from parley.coordinator.signals.count_contradictions import all_of_one_mind, share_told
from parley.schemas.folders.request_kind import wanted
from parley.schemas.protocols.madp.work import Checked, Evidence, Ran, Work

LEFT_OUT = "[left out: a claim that the machine did not see borne out]"
_PIECE = re.compile(r"(?<=[.!?])\s+|\n+")
_WIDE = 300
"""Characters of a claim that is shown."""
_CLEAN = re.compile(
    r"\b(?:no|zero|0|without(?: any)?|keine?|ohne|aucune?|sans)\s+(?:\w+\s+)?(?:fail\w*|errors?|regressions?|problems?|"
    r"issues?|warnings?|exceptions?|fehler|erreurs?|échecs?)\b"
)
_TESTS = (
    r"(?:tests?|test ?suite|suite|specs?|checks?|build|ci|pipeline|cases?|assertions?|lint\w*|type ?check\w*|mypy|ruff|"
    r"pytest|(?:full|test|regression) runs?|everything|alles|tout)"
)
_GOOD = (
    r"(?:pass(?:es|ed|ing)?|succeed(?:s|ed)?|successful(?:ly)?|green|clean|happy|fine|ok|checks? out|"
    r"(?:ran|went) through|without (?:any )?(?:trouble|problems?)|reports? nothing|nothing broke|✔|✓|bestanden|"
    r"bestehen|grün|passent|vertes?)"
)
_RAN = re.compile(
    r"\b(?:i|we|i've|we've|and|then|also|after|have|has|was|were|been|by|locally|manually|fully|thoroughly|just|"
    r"successfully|carefully|extensively|all|now|ich|wir|habe|wurden?|j'ai|nous|été)\s+(?:\w+ly\s+)?(?:re-?)?"
    r"(?:ran|run|running|executed|exercised|tested|tried|started (?:it|the (?:program|server|app))|"
    r"checked \w+ (?:with|in|by)|benchmarked|measured|profiled|"
    r"compiled|built|linted|getestet|ausgeführt|testé\w*|exécuté\w*|lancé\w*)\b"
    r"(?! by (?!me|us))"
    r"|\bran\b[^.;]{0,30}\b(?:tests?|suite|pytest|checks?|build|specs?|cases?|examples?|benchmarks?)\b"
    r"|\b(?:is|are) (?:now |all |also |fully )*tested\b|^\W*(?:re-?)?(?:ran|executed|tested|benchmarked|compiled)\b"
    r"|\b(?:fully|well|thoroughly|battle|unit)[- ]tested\b"
    r"|\b(?:verified|validated|confirmed|proven|überprüft|vérifié\w*)\b"
    r"(?! (?:by|in|from) (?!running|executing|test|hand))"
    r"|\btest(?:s|ing)?\b (?:run |output |results? )?(?:shows?|confirms?|proves?|says?)\b"
)
_PASS = re.compile(
    rf"\b{_TESTS}\b[^.;]{{0,60}}?(?<!\w){_GOOD}(?!\w)"
    rf"|\b{_TESTS}\W[^.;]{{0,30}}?\b(\d+) ?/ ?\1\b|\ball (?:is |are )?green\b"
    r"|\b\d+\s+(?:\w+\s+)?(?:tests?\s+)?(?:passed|passing|pass|green|bestanden|succeed(?:ed)?)\b"
    r"|\bpass(?:es|ed)? (?:all|every|the) [\w ]{0,20}(?:tests?|checks?|suite)\b"
    r"|\b(?:green|passing) (?:tests?|suite|build)\b|\bcoverage (?:is|of|at|now|stays|remains|rose|stands)\D{0,12}\d+"
)
_PASSED = re.compile(
    r"\b(\d{1,6})\s+(?:of \d+\s+)?(?:unit |regression |existing |new )*(?:tests?\s+|cases?\s+|checks?\s+)?"
    r"(?:pass(?:ed|es|ing)?|green|succeed(?:ed)?|bestanden|cases|inputs|scenarios|tests (?:are|were) (?:green|run))\b"
    r"|\b(?:ran|run|executed|tested)\s+(?:\w+ ){0,3}?(\d{1,6})\s+(?:\w+ )?(?:tests?|cases?|inputs?|scenarios?|times)\b"
)
_PART = re.compile(
    r"\b(\d{1,6})\s*(?:of|out of|/)\s*(?:the |its )?(\d{1,6})(?: \w+){0,2}? (pass|succe|green|fail|red\b)"
)
_FAIL = re.compile(r"\b(\d{1,6})\s+(?:tests? |cases? |of them )?(?:still |now )?(?:fail(?:s|ed|ing|ures?)?|red)\b")
_COMMAND = re.compile(r"`([^`\n]{3,200})`")
_PROGRAM = re.compile(
    r"(?:python[\d.]*|pytest|npm|npx|yarn|pnpm|node|make|go|cargo|tox|nox|sh|bash|mypy|ruff|uv|mvn|gradle)\b|\./"
)
_RUNNER = (
    r"(?:uv run )?(?:python[\d.]* -m (?:pytest|unittest|doctest|mypy|ruff|compileall|py_compile)|pytest|py\.test|tox|"
    r"nox|(?:npm|yarn|pnpm|bun|deno)(?: run)? [\w:-]*(?:test|lint|build|check)[\w:-]*|npx \w+|node --(?:test|check)|"
    r"(?:go|cargo|dotnet|mvn|gradle|\./gradlew|swift|mix) \w+|make\b|ctest|rspec|phpunit|bats|mypy|ruff|"
    r"eslint|tsc|flake8|pylint|(?:sh |bash |\./)[\w./-]*test[\w./-]*)"
)
_SHOWS = re.compile(
    rf"(?:cd [\w./-]+ ?(?:&&|;) ?)?(?:\w+=[\w./:-]* )*{_RUNNER}(?: [^;&|<>`$\n]*)?(?:2>&1)? ?"
    r"(?:\| ?tail\b[^;&|<>`$\n]*)?"
)
"""A command whose output is a runner's own: nothing else is printed beside it, and nothing of it is hidden."""
_LOOKS = re.compile(r"(?:ls|cat|head|tail|wc|grep|diff|echo|printf|true|pwd|find|which|sed -n)\b")
"""Commands that only look: whoever ran them ran no test."""
_SHOWN = re.compile(r"(?:^|[;&|(]\s*|\bdo )(?:cat|head|tail|sed|less|nl|grep|rg|awk)\b")
"""Commands that show what stands in files."""
_TOOLS = re.compile(
    r"\b(mypy|ruff|eslint|flake8|pylint|tsc|clippy|bandit|lint|type ?check|build|compil|coverage|benchmark|profil|"
    r"integration test|load test|end-to-end)"
)
"""Words of what only a run of its own shows."""
_BY_HAND = re.compile(
    r"\b(?:manually|by hand|staging|production|in (?:the|a) browser|devices?|measured|[\d.]+ ?x faster)\b"
)
_MYSELF = re.compile(r"\b(?:i|i've|we|we've|ich|wir|je|j'ai|nous|yo|he|hemos)\b")
"""Who speaks says that it did it."""
_READ = re.compile(
    r"\b(?:i|we|i've|have|having|and|then|ich|j'ai)\s+(?:\w+ly\s+)?(?:read|re-?read|reviewed|"
    r"looked (?:at|into|through|over)|inspected|examined|audited|went through|"
    r"studied|checked(?! \w+ (?:with|by|in))|gelesen|durchgesehen|lu|relu)\b"
)
_WHOLE = re.compile(r"\b(?:all|every|each|whole|entire|everything|alle[ns]?|jede[sn]?|tous|toutes)\b")
_PATH = re.compile(r"(?<![\w/.-])((?:[\w.-]+/)*[\w-][\w.-]*\.[A-Za-z]\w{0,5})(?![\w/])")
_ADDED = re.compile(
    r"(?<!\bthe )(?<!\bthis )(?<!\ban )\b(?:added|wrote|written|created|introduced|extended|include[sd]?|ergänzt|"
    r"ajouté)\b[^.;]{0,40}?"
    r"\b(?:(\d{1,4})\s+)?(?:new |unit |regression |integration |further |more )*tests?\b(?! (?:file|data|folder|plan))"
)
_PROVES = re.compile(r"\btests?\b[^.;]{0,30}\b(?:proves?|covers?|shows?|confirms?|guards?|holds?|ensures?)\b")
_VERBS = (
    r"fixed|corrected|repaired|changed|updated|implemented|rewrote|rewritten|refactored|renamed|replaced|resolved|"
    r"patched|removed|deleted|adapted|adjusted|added|wrote|created|behoben|korrigiert|geändert|ergänzt|corrigé\w*"
)
_CHANGED = re.compile(
    r"(?:\b(?:i|we|i've|we've|have|has been|is|are|now|ich|j'ai)\s+(?:(?:both|all|now|also|\w+ly)\s+)*|^\W*)"
    rf"(?:{_VERBS})\b"
)
_SAME = re.compile(
    r"\b(?:nothing (?:else )?(?:changes|changed)|no (?:functional|behaviou?r\w*|semantic|logical) changes?|"
    r"(?:behaviou?r|functionality|output|results?|logic|semantics)\b[^.;]{0,30}\b(?:same|unchanged|identical|intact)|"
    r"same\b[^.;]{0,20}\b(?:as before|behaviou?r|output)|(?:pure|only|just)\w* (?:formatting|whitespace)|cosmetic)\b"
)
_NOT = re.compile(
    r"\b(?:not|never|nobody|nothing|none|neither|nor|no|cannot|can|could|should|would|will|may|might|must|please|"
    r"to be$|if|once|until|unless|whether|when|without|need(?:s|ed)?|want\w*|plan\w*|nicht|nie|kein\w*|ohne|wenn|falls|"
    r"soll\w*|pas|jamais|si|doit)\b|n't\b"
)
_IN = re.compile(
    r"\b(?:not|never|cannot|neither|should|would|will|whether|if|when|must|how|nicht|pas)\b|n't"
    r"|\bno (?:\w+ ){1,2}pass(?:es|ed)?\b"
)
_ONCE = re.compile(r"\b(?:when|once|after|as soon as) (?=(?:i|we)\b)")
_FILE = r"[`\"']?[\w./-]*\w\.[a-z]\w{0,5}\b"
_OUTSIDE = re.compile(
    rf"\b(?:{_VERBS})\s+(?:(?!(?:of|for|from|on|in|to|by|with|that|which)\b)\S+\s+){{0,4}}?"
    rf"(?:{_FILE}|(?:code|codebase|repo(?:sitory)?|branch|config(?:uration)?|database|server|pipeline|bugs?|functions?|"
    r"modules?|datei|quelltext)\b)"
    rf"|(?<!is )(?<!are )(?<!stands )(?<!says )\b(?:to|into|in|as|under)\s+{_FILE}"
)
"""A change of what stands outside a text."""
_I = re.compile(r"\b(?:i|i've|ich|j'ai)\b(?![).:/])")
_NEAR = 24
"""Characters before a claim in which a word takes it back."""


About = Literal["change", "plan", "text", "subject"]
"""What sentences speak of: a change, and any of them may claim one; what would be changed, where only who speaks of
itself claims a change; a text that was written, which is no change of anything else; or the subject of a text, where
only who speaks of itself claims anything."""


class Tells(NamedTuple):
    """What the words of a lead speak of."""

    summary: About
    output: About


def tells(task: str, outcome: str = "done") -> Tells:
    """By what the task wants: the output of one that wants a text is that text. `outcome`: how the turn of work
    ends."""
    kind = wanted(task)
    if kind == "change":
        return Tells("plan", "plan") if outcome in ("planned", "declined", "blocked") else Tells("change", "change")
    return Tells("text", "subject" if kind == "text" else "text")


def unheld(text: str, record: Evidence, checks: tuple[Checked, ...], about: About = "change") -> tuple[str, ...]:
    """Sentences that claim what the record does not hold, each once."""
    found = (piece.strip()[:_WIDE] for piece in _pieces(text) if not _held(piece, record, checks, about))
    return tuple(dict.fromkeys(found))


def borne_out(text: str, record: Evidence, checks: tuple[Checked, ...], about: About = "change") -> str:
    """The text without those sentences; a remark stands for each row of them."""
    for piece in _pieces(text):
        if piece.strip() and not _held(piece, record, checks, about):
            text = text.replace(piece, LEFT_OUT)
    return re.sub(rf"(?:{re.escape(LEFT_OUT)}\s+)+(?={re.escape(LEFT_OUT)})", "", text)


def _pieces(text: str) -> Iterator[str]:
    return (piece for piece in _PIECE.split(text) if piece.strip())


def runs_unheld(text: str, record: Evidence, checks: tuple[Checked, ...], about: About) -> tuple[str, ...]:
    """Sentences of a document that claim runs which the record does not hold."""
    return tuple(
        piece.strip()[:_WIDE]
        for piece in _pieces(text)
        if _speaks(_plain(piece), about) and not _run_held(piece, _plain(piece), record, checks)
    )


def claims_change(text: str, about: About) -> bool:
    """Whether a sentence claims that something was changed."""
    return any(_says_changed(piece, _plain(piece), about) for piece in _pieces(text))


def _says_changed(piece: str, said: str, about: About) -> bool:
    outside = about == "change" or (_I if about == "plan" else _OUTSIDE).search(said)
    return bool(outside) and _speaks(said, about) and _claims(_CHANGED, said)


def _speaks(said: str, about: About) -> bool:
    """Whether a sentence may be what the lead says of itself."""
    return about != "subject" or bool(_I.search(said))


def _plain(piece: str) -> str:
    """In lower case, without words that only look as if they took a claim back."""
    said = re.sub(r"\s+", " ", piece.replace("’", "'").lower()).replace("not only", "")
    return _CLEAN.sub("all passed", _ONCE.sub("and ", said))


def _held(piece: str, record: Evidence, checks: tuple[Checked, ...], about: About) -> bool:
    """Whether the machine saw what a sentence claims; what claims nothing is held."""
    said = _plain(piece)
    if not _speaks(said, about):
        return True
    if not record.written and (record.offered or about != "change") and _says_changed(piece, said, about):
        return False
    if record.unasked and _SAME.search(said):
        return False
    if _claims(_READ, said) and not _reading_held(piece, record):
        return False
    empty = sum(x.startswith(EMPTY) for x in record.unasked)
    if empty and _claims(_PROVES, said):
        return False
    added = _ADDED.search(said)
    if added and _claims(_ADDED, said) and record.tests - empty < max(1, int(added[1] or 1)):
        return False
    return _run_held(piece, said, record, checks)


def _run_held(piece: str, said: str, record: Evidence, checks: tuple[Checked, ...]) -> bool:
    """Of what it claims to have been run. `said`: the sentence, plain."""
    passes, ran = _claims(_PASS, said) or _cleanly(said, piece), _claims(_RAN, said)
    admitted = _admitted(said)
    if admitted and not admitted <= _counted(record, checks):
        return False
    if passes and not admitted and not _has_passed(record, checks):
        return False
    if ran and not _claims(_READ, said) and not _has_run(record, checks):
        return False
    counted = bool(re.search(r"\d", said))  # who tells a figure that the check counted has it from there
    if ran and passes and not counted and _MYSELF.search(said) and not _ran_itself(record):
        return False
    return not (passes or ran) or (_figures(said, record, checks) and _commands(piece, record, checks))


def _reading_held(piece: str, record: Evidence) -> bool:
    """Whether the files that a sentence names were read; of all of them, whether more than one was."""
    shown = [word.strip("\"'") for r in record.commands if _SHOWN.search(r.command) for word in r.command.split()]
    whole = _WHOLE.search(piece.lower()) and not shown
    return all(_was_read(path, record, shown) for path in _PATH.findall(piece)) and not (whole and len(record.read) < 2)


def _claims(pattern: re.Pattern[str], said: str) -> bool:
    """Whether a sentence claims it, and no word before or in the claim takes it back."""
    return any(
        not _NOT.search(said[max(0, m.start() - _NEAR) : m.start()]) and not _IN.search(m[0])
        for m in pattern.finditer(said)
    )


def _cleanly(said: str, piece: str) -> bool:
    """`no failures` and the like, where tests are spoken of."""
    return said.count("all passed") > piece.lower().count("all passed") and bool(re.search(rf"\b{_TESTS}\b", said))


def _has_run(record: Evidence, checks: tuple[Checked, ...]) -> bool:
    return any(not _LOOKS.match(r.command) for r in record.commands) or any(c.exit is not None for c in checks)


def _ran_itself(record: Evidence) -> bool:
    """Whether whoever speaks ran a command: a check that Parley ran is nobody's own run."""
    return any(not _LOOKS.match(r.command) for r in record.commands)


def _has_passed(record: Evidence, checks: tuple[Checked, ...]) -> bool:
    """The last thing that was run says so: the check after the work, or before it where nothing was changed; or else a
    command that counts tests."""
    after = [c for c in checks if c.when == "after"] or ([] if record.written else list(checks))
    if after:
        return after[-1].green
    last = [r for r in record.commands if _shows(r, checks)][-1:]
    return bool(last) and not last[0].stale and last[0].ended == "exit 0" and "failed" not in last[0].tests


def _shows(ran: Ran, checks: tuple[Checked, ...]) -> bool:
    """Whether what a command printed is what a runner says, and nobody's own words."""
    return bool(_SHOWS.fullmatch(ran.command)) or any(ran.command == c.command for c in checks)


def _admitted(said: str) -> set[tuple[str, int]]:
    """(`passed` or `failed`, how many) of tests, where a sentence says that some failed."""
    found: set[tuple[str, int]] = set()
    for some, of, how in _PART.findall(said):
        failed = int(some) if how in ("fail", "red") else int(of) - int(some)
        found |= {("failed", failed), ("passed", int(of) - failed)} if 0 < failed <= int(of) else set()
    return found | {("failed", int(n)) for n in _FAIL.findall(_PART.sub("", said)) if int(n)}


def _counted(record: Evidence, checks: tuple[Checked, ...]) -> set[tuple[str, int]]:
    """The same of what was run, whatever it came to."""
    found = {("failed", (c.tests or 0) - (c.passed or 0) if c.tests else len(c.failed)) for c in checks}
    found |= {("passed", c.passed) for c in checks if c.passed is not None}
    rows = [row for r in record.commands if _shows(r, checks) for row in re.findall(r"(\d+) (passed|failed)", r.tests)]
    return found | {(how, int(n)) for n, how in rows}


def _figures(said: str, record: Evidence, checks: tuple[Checked, ...]) -> bool:
    """Whether the numbers of tests that a sentence tells were counted."""
    counted = {n for c in checks for n in (c.tests,) if n is not None} | {n for _, n in _counted(record, checks)}
    return all(int(a or b) in counted for a, b in _PASSED.findall(said))


def _commands(piece: str, record: Evidence, checks: tuple[Checked, ...]) -> bool:
    """Whether the commands that a sentence names were run."""
    were_run = [*(c.command for c in checks if c.exit is not None), *(r.command for r in record.commands)]
    said = piece.lower()
    if _BY_HAND.search(said) and not record.commands:
        return False
    if any(not any(tool[:4] in run for run in were_run) for tool in _TOOLS.findall(said)):
        return False
    named = [text.strip("$ ") for text in _COMMAND.findall(piece)]
    return all(any(x in run or run in x for run in were_run) for x in named if _PROGRAM.match(x))


def _was_read(path: str, record: Evidence, shown: list[str]) -> bool:
    """`shown`: words of commands that show files, names and patterns among them."""
    known = (*record.read, *record.written, *shown)
    return any(x == path or x.endswith(f"/{path}") or path.endswith(f"/{x}") or fnmatch(path, x) for x in known)


# ---------------------------------------------------------------- what it says of its reviews


_REVIEWERS = ("reviewer", "gutachter", "relecteur")


def departs(work: Work, verdicts: Mapping[str, str], task: str) -> str:
    """What work says of its reviews otherwise than it was counted, with what was counted; empty: nothing that is plain.
    A task that asks about reviewers has others in mind, and nothing is compared."""
    if re.search(rf"\b(?:{'|'.join(_REVIEWERS)})", task.lower()):
        return ""
    text = f"{work.summary}\n{work.output}"
    approved = sum(x == "approved" for x in verdicts.values())
    reviewers = "reviewer" if len(verdicts) == 1 else "reviewers"
    counted = f"{approved} of {len(verdicts)} {reviewers} approved it" if verdicts else "nobody has reviewed it"
    if (not verdicts or approved < len(verdicts)) and all_of_one_mind(text, _REVIEWERS):
        return f"it says that all reviewers approved; counted was: {counted}"
    told = share_told(text, _REVIEWERS)
    if told is not None and told != (approved, len(verdicts)):
        return f"it says that {told[0]} of {told[1]} reviewers approved; counted was: {counted}"
    return ""
