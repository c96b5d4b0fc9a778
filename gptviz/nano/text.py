"""The text nano learns from: small plain-English documents, written by the rules of `assets/nano/text.txt`.

`stories(seed)` yields one document after another, the same ones for the same seed. Their words stand in that file,
except numbers and the names that are invented from its syllables. The documents are of the kinds a lesson needs: places
to sit, who gave what to whom (names come back, so a head that copies pays off), series, facts, sums, lines of code.
"""

import random
import re
from collections.abc import Iterator
from functools import cache
from itertools import accumulate
from pathlib import Path

from gptviz.places import ASSETS

RULES = ASSETS / "nano" / "text.txt"
SLOT = re.compile(r"\{(\w+)(?::(\w))?\}")  # {kind} or {kind:letter}
CHOICE = re.compile(r"\[([^\[\]]*\|[^\[\]]*)\]")  # [this|that|]
PRONOUNS = {"he": ("he", "she"), "his": ("his", "her"), "him": ("him", "her")}


class Rules:
    """The word lists, series, pairs and templates of a rules file."""

    def __init__(self, path: Path = RULES):
        self.words: dict[str, list[str]] = {}
        self.series: list[list[str]] = []
        self.pairs: dict[str, list[tuple[str, str]]] = {}
        self.templates: dict[str, list[str]] = {}
        section: list[str] = []
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("  "):
                section.append(line.strip().replace("\\n", "\n"))
            elif line and not line.startswith("#"):
                heading, _, rest = line.partition(":")
                section = self.start(heading.split(), rest.strip().split(", "))

    def start(self, heading: list[str], items: list[str]) -> list[str]:
        """Open the section with this heading; returns the list its indented lines belong to."""
        kind, name = heading[0], heading[-1]
        if kind == "words":
            self.words[name] = items
        elif kind == "series":
            self.series.append(items)
        elif kind == "pairs":
            self.pairs[name] = [(left, right) for left, _, right in (item.partition("=") for item in items)]
        elif kind == "templates":
            return self.templates.setdefault(name, [])
        else:
            raise ValueError(f"{RULES.name} has a section of an unknown kind: {kind}.")
        return []


@cache
def steps(length: int) -> list[float]:
    """Cumulative weights of a list: the word at rank r is drawn with a chance proportional to 1 / (r + 3)."""
    return list(accumulate(1 / (rank + 3) for rank in range(length)))


class Writer:
    """Writes documents; its random state decides them."""

    def __init__(self, rules: Rules, rng: random.Random):
        self.rules, self.rng = rules, rng
        self.boys = frozenset(rules.words["boy"])
        self.kinds = {
            self.several: 40,
            self.story: 22,
            self.enumeration: 9,
            self.fact: 9,
            self.code: 6,
            self.repeated: 6,
            self.sums: 4,
            self.table: 4,
        }

    def document(self) -> str:
        """One document of a kind drawn by the weights above."""
        return self.rng.choices(list(self.kinds), weights=list(self.kinds.values()))[0]()

    def word(self, kind: str) -> str:
        """A word of a list, the first ones more often; one name in ten is invented, so that names need not be known."""
        if kind == "name":
            if self.rng.random() < 0.1:
                syllables = self.rng.choices(self.rules.words["syllable"], k=self.rng.choice((2, 2, 3)))
                return "".join(syllables).capitalize()
            kind = self.rng.choice(("girl", "boy"))
        words = self.rules.words[kind]
        return self.rng.choices(words, cum_weights=steps(len(words)))[0]

    def fill(self, group: str, bound: dict[str, str] | None = None) -> str:
        """Write a template of a group; `bound` keeps what letters stand for, for the sentences that follow."""
        return self.write(self.rng.choice(self.rules.templates[group]), {} if bound is None else bound)

    def write(self, template: str, bound: dict[str, str]) -> str:
        """Replace the choices and the slots of one template."""

        def slot(match: re.Match[str]) -> str:
            kind, letter = match[1], match[2]
            if letter and kind.lower() in PRONOUNS:
                pronoun = PRONOUNS[kind.lower()][bound[letter] not in self.boys]
                return pronoun.capitalize() if kind[0].isupper() else pronoun
            if letter in bound:
                return bound[letter]
            word = self.word(kind)
            while letter and word in bound.values():  # two letters never stand for the same word
                word = self.word(kind)
            if letter:
                bound[letter] = word
            return word

        text = CHOICE.sub(lambda match: self.rng.choice(match[1].split("|")), template)
        text = SLOT.sub(slot, text)
        text = re.sub(r"\b([Aa]) (?=[aeiouAEIOU])", r"\1n ", text)
        return text[:1].upper() + text[1:] if text.endswith(".") else text

    def several(self) -> str:
        """One to three everyday sentences that need not belong together."""
        groups = ("posture", "posture", "giving", "talk", "finding", "daily", "daily", "daily")
        return " ".join(self.fill(self.rng.choice(groups)) for _ in range(self.rng.choice((1, 1, 2, 3))))

    def story(self) -> str:
        """An opening, one to four sentences about the same people, an ending."""
        bound: dict[str, str] = {}
        sentences = [self.fill("opening", bound)]
        for template in self.rng.sample(self.rules.templates["middle"], self.rng.randint(1, 4)):
            bound = {letter: word for letter, word in bound.items() if letter in "ab"}
            sentences.append(self.write(template, bound))
        return " ".join([*sentences, self.fill("ending", bound)])

    def enumeration(self) -> str:
        """Numbers with a fixed step, or part of a series everybody knows."""
        rng, length = self.rng, self.rng.randint(4, 14)
        if rng.random() < 0.5:
            step = rng.choice((1, 1, 1, 1, 2, 2, 5, 10))
            start = rng.choice((1, 1, 1, rng.randint(0, 30))) if step == 1 else rng.choice((step, step, 0, 1))
            items = [str(start + step * index) for index in range(length)]
        else:
            series = rng.choice(self.rules.series)
            start = rng.choice((0, 0, rng.randrange(len(series) - 2)))
            items = series[start : start + length]
        return rng.choice((", ", ", ", " ")).join(items) + rng.choice((".", ".", ""))

    def fact(self) -> str:
        """A saying, or a capital, a colour, an opposite, a sound: as a statement or as a question with its answer."""
        rng, pairs = self.rng, self.rules.pairs
        if rng.random() < 0.25:
            return self.fill("saying")
        country, capital = rng.choice(pairs["capital"])
        thing, tint = rng.choice(pairs["tint"])
        animal, sound = rng.choice(pairs["sound"])
        word, opposite = rng.choice(pairs["opposite"])
        question, answer = rng.choice(
            (
                (f"What is the capital of {country}?", f"The capital of {country} is {capital}."),
                (f"What is the capital of {country}?", f"The capital of {country} is {capital}."),
                (f"What colour is the {thing}?", f"The colour of the {thing} is {tint}."),
                (f"What color is the {thing}?", f"The {thing} is {tint}."),
                (f"What is the opposite of {word}?", f"The opposite of {word} is {opposite}."),
                (f"What is the opposite of {opposite}?", f"The opposite of {opposite} is {word}."),
                (f"What does a {animal} do?", f"A {animal} can {sound}."),
            )
        )
        return rng.choice((answer, answer, f"Question: {question}\nAnswer: {answer}", f"{question} {answer}"))

    def sums(self) -> str:
        """One to four small sums, each right."""
        lines = []
        for _ in range(self.rng.randint(1, 4)):
            a, b = self.rng.randint(0, 10), self.rng.randint(0, 10)
            lines.append(f"{a} + {b} = {a + b}" if self.rng.random() < 0.6 else f"{a + b} - {a} = {b}")
        return self.rng.choice(("\n", ", ")).join(lines)

    def repeated(self) -> str:
        """Words in no order, then the same words again: only what came before tells what comes next."""
        kinds = ("animal", "thing", "colour", "place", "plural", "food", "girl", "boy")
        pool = [word for kind in kinds for word in self.rules.words[kind]]
        words = " ".join(self.rng.choices(pool, k=self.rng.randint(3, 24)))
        return self.rng.choice((" ", ", ", ". ", "\n")).join([words] * self.rng.choice((2, 2, 3)))

    def table(self) -> str:
        """Names with a value each, then some of the names again."""
        people = list(dict.fromkeys(self.word("name") for _ in range(self.rng.randint(2, 5))))
        value = {person: self.word(self.rng.choice(("colour", "food", "animal"))) for person in people}
        again = self.rng.choices(people, k=self.rng.randint(2, 5))
        return "\n".join(f"{person}: {value[person]}" for person in people + again)

    def code(self) -> str:
        """A few lines of Python."""
        return self.fill("code")


def stories(seed: int, rules: Path = RULES) -> Iterator[str]:
    """Documents without end, the same for the same seed and rules; none is empty."""
    writer = Writer(Rules(rules), random.Random(f"nano {seed}"))
    while True:
        yield writer.document()
