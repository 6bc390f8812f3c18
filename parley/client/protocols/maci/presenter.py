"""How one MACI session is shown."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

from parley.client.protocols.maci import brief, cards, page, transcript
from parley.client.protocols.maci.brief import Told
from parley.client.protocols.maci.plot import draw
from parley.client.protocols.maci.story import body_of, story, unlike_words
from parley.client.protocols.maci.transcript import outcome_of
from parley.client.show.cards import Card, Series, StopRule
from parley.client.show.lines import Piece, StyledLine
from parley.client.show.presenter import SEAT_WORDS, NoPicture, PagePart, Presenter
from parley.client.show.words import raw_post
from parley.client.text import count
from parley.client.untrusted import items, mapping, object_of
from parley.schemas import log
from parley.schemas.post import Post
from parley.schemas.protocols.maci.messages import Blind, Case, Passages, Round
from parley.schemas.result import Result, Stop
from parley.schemas.stops import ONE_SOURCE


class MaciPresenter(Presenter):
    """Shows a debate that is measured: beliefs, arguments at the gates, signals and dials."""

    picture = "signals"
    measured = False
    certificate_names: ClassVar[Mapping[str, str]] = {
        "document": "document that all quote",
        "advocates": "devil's advocates", "admitted": "arguments admitted", "refused": "arguments refused",
        "cross_family": "judges of another model family than every debater",
        "debater_families": "debaters' model families", "judge_families": "judges' model families",
        "judges": "judges, each another worker",
        "disagreement": "how disagreement is measured", "jsd": "Jensen-Shannon divergence",
        "gates": "gates at the end, 0 to 1", "gates_first": "gates at the beginning, 0 to 1",
        "plateau": "how a plateau is found",
        "tau_q": "evidence quality", "tau_crit": "argument quality", "window": "figures of the plateau's rule",
        "eps_d": "standstill of disagreement", "eps_i": "standstill of information", "eta": "least denominator",
        "w": "rounds looked at", "round_value": "what one more round was expected to bring",
    }  # fmt: skip

    seat_words: ClassVar[Mapping[str, tuple[str, str]]] = {
        **SEAT_WORDS,
        "belief": ("How likely each outcome is", "Together they make 1."),
        "belief.outcome": ("Outcome", ""), "belief.p": ("Probability", "0 to 1."),
        "spans": ("Evidence", "Words of a passage, exactly as they stand there."),
        "spans.passage": ("Passage", "For example p7."), "spans.quote": ("Quoted words", ""),
        "arguments": ("Argument", ""), "arguments.claim": ("Claim", ""), "arguments.reasons": ("Reasons", ""),
        "arguments.spans": ("Evidence", ""), "arguments.spans.passage": ("Passage", "For example p7."),
        "arguments.spans.quote": ("Quoted words", ""),
        "arguments.rebuts": ("Number of the post that it answers", "Leave it empty if it stands alone."),
        "changed": ("What moved your belief, or why it stands", ""),
        "speaks_for": ("Outcome that your arguments speak for", "Another than the one that all hold."),
        "answers": ("Answer to the devil's advocate", "One for each of its arguments."),
        "answers.argument": ("Argument", "For example a7."),
        "answers.why": ("Why it fails, or what it changes", ""),
        "answers.fails": ("It takes nothing from the answer that all hold", "Else your belief in it is lower now."),
        "apart": ("Your words that are another answer", "Of those that were taken for the same."),
    }  # fmt: skip
    asks: ClassVar[Mapping[str, str]] = {
        "blind": "Say how likely each outcome is. Nobody sees it before this round is over.",
        "argue": "Argue, and say how likely each outcome is now.",
        "attack": "Argue against the answer that all hold, as devil's advocate, and say what you believe yourself.",
        "answer": "Answer each argument of the devil's advocate, and say how likely each outcome is now.",
        "crit": "Mark each argument by its reasons and evidence. You do not argue yourself.",
    }

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        super().__init__(settings)
        self._posts: list[Post] = []
        self._signals = ""
        self._told = Told()
        self._documents: dict[str, str] = {}
        """Passage -> its document."""
        self._held: dict[str, str] = {}
        """Seat -> the outcome that it held most probable last."""
        self._rounds: list[Round] = []

    def take(self, post: Post) -> None:
        """Fold one post."""
        self._posts.append(post)
        self._signals = transcript.foot(post) or self._signals
        match body_of(post):
            case Passages(passages=passages):
                self._documents.update({p.id: p.document for p in passages})
            case Round() as body:
                self._rounds.append(body)

    def card(self, post: Post) -> Card:
        """A post as data."""
        body = body_of(post)
        card = cards.card(body, self._documents, self._held.get(post.seat, ""))
        if card is not None and isinstance(body, Blind | Case):
            self._held[post.seat] = card.position
        return card or super().card(post)

    def signals(self) -> tuple[Series, ...]:
        """Each signal by round."""
        return cards.signals(self._rounds)

    def round_note(self, round_: int) -> str:
        """That the first one is blind."""
        return "blind, nobody saw another answer" if round_ == 0 else ""

    def lines(self, post: Post, width: int) -> Iterator[Piece]:
        """A post in lines."""
        if self.brief and (body := body_of(post)) is not None:
            return self._told.lines(post, body)
        return transcript.post_lines(post, width) or raw_post(post, width)

    def missing(self, post: Post) -> tuple[str, ...] | None:
        """Seats that a round counts as missing."""
        return tuple(items(object_of(post.body).get("missing"))) if post.kind == "signals" else None

    def stop_lines(self, reason: str, certificate: Mapping[str, Any]) -> Iterator[StyledLine]:
        """The tests that decided; on one screen, whose line of the stop names those that failed, whether an agreement
        was tested."""
        return transcript.untested(certificate) if self.brief else transcript.stop_lines(reason, certificate)

    def kept_apart(self, certificate: Mapping[str, Any]) -> str:
        """Which tests of agreement and plateau failed."""
        return transcript.kept_apart(certificate)

    def beside(self, result: Result) -> Iterator[StyledLine]:
        """The mixture, the blind vote, the arguments."""
        yield from transcript.outcome_lines(result.outcome, story(self._posts), result.stop.certificate)
        yield from (("score", text) for text in unlike_words(result.rounds, outcome_of(result.outcome).record))

    def brief_beside(self, result: Result) -> Iterator[StyledLine]:
        """The strongest arguments, and what speaks against trust."""
        return brief.beside(result)

    def answer_words(self, result: Result, usual: str) -> str:
        """How the answer is called: where debaters hold different ones, it is what the mixture makes most probable."""
        return usual if result.stop.converged else "No agreement; most probable"

    def dissent(self, result: Result) -> str:
        """Debaters that hold something else in the end."""
        return brief.dissent(story(self._posts), result)

    def in_short(self, result: Result) -> str:
        """Who agreed from when on, what the debate changed, what to find out next."""
        if not self.answer(result) and not result.outcome.get("mixture"):
            return super().in_short(result)
        if result.stop.reason == ONE_SOURCE:
            return self.from_one_source(result)
        return brief.in_short(story(self._posts), result, self.confidence(result))

    def played(self, result: Result) -> str:
        """How many rounds, the blind one by itself."""
        played = len(result.rounds)
        return f"a blind round and {count(played - 1, 'round')}" if played else count(played, "round")

    def certificate_words(self, certificate: Mapping[str, Any]) -> Iterator[str]:
        """Every test of every reason to stop, where it was asked."""
        if "stops" in certificate:
            shown = transcript.certificate_words(certificate)
            return chain(shown, self.certificate_figures(certificate, ("spent",)))
        return self.certificate_figures(certificate)

    def certificate_rows(self, certificate: Mapping[str, Any]) -> list[tuple[str, str]]:
        """What the tests do not tell."""
        rest = {k: v for k, v in certificate.items() if k not in (*transcript.TOLD, "spent")}
        spent = mapping(certificate.get("spent"))
        told = [transcript.spent_words(spent).split(": ", 1)] if spent else []
        return [*super().certificate_rows(rest), *((name[:1].upper() + name[1:], value) for name, value in told)]

    def stop_rules(self, certificate: Mapping[str, Any]) -> Sequence[StopRule]:
        """Agreement, plateau, stalemate, budget, round limit."""
        return transcript.stops_of(certificate)

    def round_words(self, figures: Mapping[str, Any]) -> Iterator[str]:
        """Nothing: the posts tell more of it (`explained`)."""
        return iter(())

    def explained(self, session: str, entries: Sequence[log.Entry]) -> Iterator[str]:
        """Signals and dials by round, arguments, beliefs."""
        session_story = story(self._posts)
        return transcript.explained(session_story) if session_story.rounds else iter(())

    def page(self, posts: Sequence[Post], result: Result | None) -> PagePart:
        """Mixture, tests, signals, arguments, plan."""
        template = Path(__file__).with_name("templates") / "maci.html"
        return PagePart(template=template, facts=page.facts_of(story(posts), result))

    def draw(self, stop: Stop | None, form: str) -> bytes:
        """Signals, dials, gates and mixture by round."""
        session_story = story(self._posts)
        if not session_story.rounds:
            raise NoPicture("ended before its first round: there are no signals to draw")
        return draw(session_story, stop, form)

    def foot(self, round_: int) -> str:
        """The last round's signals, and the dials of the next."""
        return f"{super().foot(round_)} · {self._signals or 'score –  '}"
