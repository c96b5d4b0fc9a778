"""The little language: its entropy counted, its judge held against a regular expression written by hand."""

import itertools
import re
from math import log

import pytest
import torch

from gptviz.lab.teaching import grammar
from gptviz.lab.teaching.grammar import DATA, FLOOR, FRAME, ID, LENGTH, WORDS, accepts, sentences, verdict

BY_HAND = re.compile(
    r"(?:(?:anna|mary)|(?P<he>tom|paul)) (?:found|lost|saw|drew) a (?:small|red|heavy|broken) "
    r"(?P<thing>key|hat|bell|cup|kite) in the (?:garden|kitchen|forest|station) and (?(he)he|she) "
    r"(?:gave|showed|sold) (?(he)his|her) (?:brother|teacher|friend) the (?P=thing) (?:today|later|again) \."
)


def drawn(count: int, seed: int = 0) -> list[list[str]]:
    rows = sentences(count, torch.Generator().manual_seed(seed)).tolist()
    return [[WORDS[i] for i in row] for row in rows]


def test_the_floor_is_the_logarithm_of_the_number_of_sentences() -> None:
    """Count what the judge accepts: brute force where words depend on each other, a product elsewhere."""
    tied = sorted({place for later, (earlier, _) in grammar.AGREES.items() for place in (later, earlier)})
    free = [place for place in range(LENGTH) if place not in tied]
    start = drawn(1)[0]
    accepted = 0
    for words in itertools.product(*(FRAME[place] for place in tied)):
        candidate = start.copy()
        for place, word in zip(tied, words, strict=True):
            candidate[place] = word
        accepted += accepts(candidate)
    for place in free:
        accepted *= sum(accepts([*start[:place], word, *start[place + 1 :]]) for word in WORDS)
    assert accepted == grammar.SENTENCES == 34_560
    assert pytest.approx(log(34_560) / 17, abs=1e-12) == FLOOR
    assert round(FLOOR, 3) == 0.615


def test_every_place_is_drawn_fairly() -> None:
    """The counted entropy of each place, given all that decides it, is the logarithm of its choices."""
    rows = drawn(40_000)
    for place, choices in enumerate(grammar.CHOICES):
        earlier = grammar.AGREES.get(place, (place, {}))[0]
        groups: dict[str, dict[str, int]] = {}
        for row in rows:
            group = groups.setdefault(row[earlier] if earlier != place else "", {})
            group[row[place]] = group.get(row[place], 0) + 1
        entropy = 0.0
        for group in groups.values():
            total = sum(group.values())
            entropy -= sum(n * log(n / total) for n in group.values()) / len(rows)
        assert entropy == pytest.approx(log(choices), abs=1e-3)  # bias of the count is about k / 2n = 6e-5


def test_the_judge_agrees_with_a_regular_expression() -> None:
    """On drawn sentences, on each of them with any one word replaced by any other, and on broken ones."""
    rows = drawn(40, seed=1)
    assert all(accepts(row) for row in rows)
    verdicts = []
    for row in rows:
        for place, word in itertools.product(range(LENGTH), WORDS):
            changed = [*row[:place], word, *row[place + 1 :]]
            verdicts.append(accepts(changed))
            assert verdicts[-1] == bool(BY_HAND.fullmatch(" ".join(changed))), changed
    assert LENGTH * len(rows) < sum(verdicts) < 0.1 * len(verdicts)  # some changes are fine, most are not
    for broken in (rows[0][:-1], [*rows[0], "."], rows[0][1:], [], ["."] * LENGTH):
        assert not accepts(broken)
    assert accepts(" ".join(rows[0]))
    assert not accepts(" ".join(rows[0]).replace("a ", "", 1))


def test_the_verdict_names_the_wrong_word() -> None:
    sentence = "anna saw a red hat in the garden and she sold her friend the hat later ."
    right = sentence.split()
    assert verdict(right) == [True] * LENGTH
    for place, word in ((0, "garden"), (2, "the"), (9, "he"), (11, "his"), (14, "cup"), (16, "anna")):
        words = [*right[:place], word, *right[place + 1 :]]
        assert verdict(words) == [i != place for i in range(LENGTH)]
    assert verdict([*right, "."]) == [True] * LENGTH + [False]
    both = [*right[:4], "bell", *right[5:]]  # the first thing is a fine word; the second one does not repeat it
    assert verdict(both) == [i != 14 for i in range(LENGTH)]


def test_sequences_start_where_sentences_do() -> None:
    rows = DATA["sentences"].draw(200, torch.Generator().manual_seed(5))
    assert rows.shape == (200, 1 + LENGTH)
    assert set(rows[:, 0].tolist()) == {ID["."]}
    assert all(accepts([WORDS[i] for i in row]) for row in rows[:, 1:].tolist())
    assert DATA["sentences"].floor == FLOOR


def test_random_tokens_are_fair() -> None:
    rows = DATA["random"].draw(20_000, torch.Generator().manual_seed(6))
    counts = torch.bincount(rows.flatten(), minlength=len(WORDS)).double()
    expected = rows.numel() / len(WORDS)
    chi_square = ((counts - expected) ** 2 / expected).sum()
    assert len(counts) == len(WORDS) == 39
    assert chi_square < 38 + 5 * (2 * 38) ** 0.5  # mean and standard deviation of the statistic
    assert DATA["random"].floor == pytest.approx(log(39))


def test_draws_follow_the_seed() -> None:
    for data in DATA.values():
        first, again, other = (data.draw(50, torch.Generator().manual_seed(s)) for s in (1, 1, 2))
        assert torch.equal(first, again)
        assert not torch.equal(first, other)
