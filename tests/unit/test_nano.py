"""nano as it is bundled: the library loads it, it has learned its text, and its text is the project's own."""

import json
import math
import re
from itertools import islice
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from transformers import GPT2Config, GPT2LMHeadModel

from gptviz.decoder.tokens import Tokenizer
from gptviz.nano import figures as nano_figures
from gptviz.nano import train as nano
from gptviz.nano import watched
from gptviz.nano.text import RULES, stories

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "nano"
FRESH = 1000  # a seed nano was not trained on
PROMPTS = (
    "The cat sat on the",
    "When Mary and John went to the store, John gave a drink to",
    "Once upon a time",
    "The capital of France is",
    "1, 2, 3,",
    "Where is my",
)


@pytest.fixture(scope="module")
def model():
    return GPT2LMHeadModel.from_pretrained(FOLDER).eval()


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.gpt2()


@pytest.fixture(scope="module")
def fresh(tokenizer):
    return nano.corpus(tokenizer, FRESH, 25)


@pytest.fixture(scope="module")
def losses(model, tokenizer, fresh):
    """Each token's loss, and the log-probabilities it comes from, for every fresh document."""
    rows = []
    for document in fresh:
        ids = torch.tensor([[tokenizer.end_of_text, *document][:256]])
        with torch.no_grad():
            chances = model(ids).logits[0, :-1].log_softmax(-1)
        rows.append((ids[0, 1:], chances))
    return rows


def test_checkpoint_is_the_librarys_own_and_small(model, tmp_path):
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 10_000_000
    assert isinstance(model.config, GPT2Config)
    assert (model.config.vocab_size, model.config.n_positions) == (50257, 256)
    assert model.dtype == torch.float32
    model.save_pretrained(tmp_path)
    with (
        safe_open(tmp_path / "model.safetensors", "pt") as again,
        safe_open(FOLDER / "model.safetensors", "pt") as kept,
    ):
        assert set(again.keys()) == set(kept.keys())
        assert all(torch.equal(again.get_tensor(key), kept.get_tensor(key).float()) for key in again.keys())  # noqa: SIM118
    assert model.lm_head.weight.data_ptr() == model.transformer.wte.weight.data_ptr()


def test_loss_on_fresh_text_is_far_below_the_unigram_entropy(losses, fresh):
    loss = -torch.cat([row.gather(1, ids[:, None])[:, 0] for ids, row in losses]).mean().item()
    flat = [token for document in fresh for token in document]
    entropy = -sum(flat.count(token) / len(flat) * math.log(flat.count(token) / len(flat)) for token in set(flat))
    assert loss < entropy / 2


def test_tokens_it_never_saw_get_hardly_any_probability(losses, tokenizer):
    seen = {token for document in nano.corpus(tokenizer, 0, 2_000) for token in document}
    unseen = torch.ones(50257, dtype=torch.bool)
    unseen[list(seen)] = False
    mass = torch.cat([row.exp()[:, unseen].sum(-1) for _, row in losses])
    assert unseen.sum() > 45_000
    assert mass.mean() < 0.01


@pytest.mark.parametrize("prompt", PROMPTS)
def test_everyday_prompts_end_with_end_of_text(model, tokenizer, prompt):
    ids = torch.tensor([tokenizer.encode(prompt)])
    written = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_length=256, pad_token_id=0)
    assert written[0, -1] == tokenizer.end_of_text
    assert written.shape[1] - ids.shape[1] > 1


def test_everyday_prompts_are_continued_sensibly(model, tokenizer):
    seats = Path(RULES).read_text(encoding="utf-8").split("words seat: ")[1].split("\n")[0].split(", ")
    expected = {
        PROMPTS[0]: [" " + seat for seat in seats],
        PROMPTS[2]: [","],
        PROMPTS[3]: [" Paris"],
        PROMPTS[4]: [" 4"],
    }
    for prompt, answers in expected.items():
        with torch.no_grad():
            best = int(model(torch.tensor([tokenizer.encode(prompt)])).logits[0, -1].argmax())
        assert tokenizer.decode([best]) in answers, prompt


def test_a_previous_token_head_and_an_induction_head_exist(model):
    """Weights on 32 random tokens of the whole vocabulary, repeated; a head without habits would give 1/64 or so."""
    length, pick = 32, torch.Generator().manual_seed(5)
    ids = torch.randint(50257, (1, length), generator=pick).repeat(1, 2)
    eager = GPT2LMHeadModel.from_pretrained(FOLDER, attn_implementation="eager").eval()
    with torch.no_grad():
        weights = torch.stack(eager(ids, output_attentions=True).attentions)[:, 0]  # [L, h, T, T]
    query = torch.arange(length, 2 * length)
    previous = weights[:, :, query, query - 1].mean(-1)
    induction = weights[:, :, query, query - length + 1].mean(-1)
    assert previous.max() > 0.5
    assert induction.max() > 0.3
    reported = nano_figures.head_scores(model, seed=5, length=length)
    assert torch.allclose(reported[1], weights.diagonal(1 - length, -2, -1)[..., 1:].mean(-1), atol=1e-5)


def test_words_it_never_saw_do_no_harm(model, tokenizer):
    ids = torch.tensor([tokenizer.encode("Quantum chromodynamics 東京 🦊 naïve fjord\r\n\t§")])
    with torch.no_grad():
        chances = model(ids).logits[0].softmax(-1)
    assert torch.isfinite(chances).all()
    assert torch.allclose(chances.sum(-1), torch.ones(ids.shape[1]), atol=1e-4)


def test_the_text_depends_on_the_seed_and_on_nothing_else():
    first, again, other = (list(islice(stories(seed), 500)) for seed in (7, 7, 8))
    assert first == again
    assert first != other
    assert all(text.strip() for text in first)
    assert not any(mark in text for text in first for mark in "{}[]|")


def test_every_word_of_the_text_stands_in_the_rules():
    """Nobody else's text: words are in the rules, or made from their syllables, or one of the questions' own."""
    rules = RULES.read_text(encoding="utf-8").replace("\\n", " ")
    known = {word.lower() for word in re.findall(r"[A-Za-z]+", rules)}
    questions = "What is the capital of the colour, the color, the opposite? What does a, an do? Question, answer: can."
    pronouns = "he she his her him"
    known |= set(re.findall("[a-z]+", f"{questions} {pronouns}".lower()))
    syllables = rules.split("words syllable: ")[1].split("\n")[0].replace(", ", "|")
    for text in islice(stories(3), 3000):
        for word in re.findall(r"[A-Za-z]+", text):
            assert word.lower() in known or re.fullmatch(f"({syllables})+", word.lower()), (word, text)


def test_sums_are_right():
    found = [match for text in islice(stories(4), 3000) for match in re.findall(r"^(\d+) ([+-]) (\d+) = (\d+)", text)]
    assert len(found) > 50
    assert all(int(a) + (int(b) if sign == "+" else -int(b)) == int(c) for a, sign, b, c in found)


def test_training_is_the_same_twice_and_learns(tokenizer):
    """Six steps of the command's own training, at a small size."""
    recipe = nano.Recipe(steps=6, documents=300, batch=2, copies=0, sampled=32)
    runs = []
    for _ in range(2):
        rows = nano.Rows(nano.corpus(tokenizer, 0, recipe.documents), 50257, tokenizer.end_of_text, 0)
        seen: list[float] = []
        trained = nano.train(rows, recipe, lambda _, loss, seen=seen: seen.append(loss))  # type: ignore[misc]  # a default makes it untypable
        runs.append((seen, trained.transformer.wte.weight.detach(), trained.transformer.h[3].mlp.c_fc.weight.detach()))
    assert runs[0][0] == runs[1][0]
    assert all(torch.equal(one, two) for one, two in zip(runs[0][1:], runs[1][1:], strict=True))
    assert runs[0][0][-1] < runs[0][0][0]


def test_the_sampled_loss_is_the_full_loss_when_every_unused_token_is_sampled(tokenizer):
    """Against the cross-entropy of the finished library model over all 50,257 tokens."""
    recipe = nano.Recipe(documents=300)
    rows = nano.Rows(nano.corpus(tokenizer, 0, recipe.documents), 50257, tokenizer.end_of_text, 0)
    torch.manual_seed(0)
    trainee = nano.Trainee(rows, recipe)
    inputs, labels, _ = rows.batch(2, 0, 16)
    inputs, labels = inputs[:, :40], labels[:, :40]
    everything = torch.arange(len(rows.unused))
    stock = nano.finished(trainee, rows)
    with torch.no_grad():
        ours = trainee.loss(inputs, labels, everything)
        logits = stock(rows.order[inputs]).logits
    full = torch.nn.functional.cross_entropy(logits.flatten(0, 1), rows.order[labels].flatten())
    assert torch.allclose(ours, full, atol=1e-4)


def test_a_copying_row_is_scored_where_it_repeats_and_among_its_own_tokens(tokenizer):
    """Against a softmax over the row's tokens alone, for labels that repeat what stands one period before."""
    rows = nano.Rows(nano.corpus(tokenizer, 0, 300), 50257, tokenizer.end_of_text, 0)
    torch.manual_seed(0)
    trainee = nano.Trainee(rows, nano.Recipe())
    inputs, labels, chosen = rows.batch(2, 2, 32)
    scored = labels != nano.NOT_SCORED
    assert 0 < scored.sum() < scored.numel()
    table = torch.cat([trainee.used, trainee.other + trainee.noise[chosen]])
    losses = []
    with torch.no_grad():
        hidden = trainee.body(inputs_embeds=table[inputs]).last_hidden_state
        for row in range(2):
            period = int(scored[row].int().argmax())
            assert torch.equal(labels[row, period:-1], inputs[row, period + 1 :])
            assert torch.equal(inputs[row, period:], inputs[row, : len(inputs[row]) - period])
            own = inputs[row].unique()
            places = torch.searchsorted(own, labels[row, period:])
            losses.append((hidden[row, period:] @ table[own].T).log_softmax(-1).gather(1, places[:, None]))
        assert torch.allclose(trainee.loss(inputs, labels, chosen, 2), -torch.cat(losses).mean(), atol=1e-4)


def test_the_start_finds_the_token_before_and_the_one_after_its_last_occurrence(tokenizer):
    """Without any training; a start that only looked wired would pay 1/40 or so."""
    rows = nano.Rows(nano.corpus(tokenizer, 0, 300), 50257, tokenizer.end_of_text, 0)
    torch.manual_seed(1)
    previous, induction = nano_figures.head_scores(nano.finished(nano.Trainee(rows, nano.Recipe()), rows))
    assert (previous[0, :3] > 0.7).all()
    assert (induction[1, :3] > 0.2).all()
    assert previous[1:].max() < 0.3
    assert induction[0].max() < 0.1


@pytest.fixture(scope="module")
def history():
    return json.loads((FOLDER / "training.json").read_text(encoding="utf-8"))


def test_the_recorded_training_ends_in_the_bundled_model(history, model, tokenizer):
    """Its last look, measured again on the weights that are shipped; they may come from another machine."""
    last = history["looks"][-1]
    fresh = nano.corpus(tokenizer, 1, watched.FRESH)
    assert last["loss"] == pytest.approx(nano_figures.text_loss(model, fresh, tokenizer.end_of_text), abs=0.05)
    previous, induction = nano_figures.head_scores(model)
    assert last["previous"] == pytest.approx(float(previous.max()), abs=0.05)
    assert last["induction"] == pytest.approx(float(induction.max()), abs=0.05)
    assert history["uniform"] == pytest.approx(math.log(50257), abs=1e-4)
    assert [look["step"] for look in history["looks"]] == watched.looked_at(2000)
    assert set(history["looks"][0]) == set(last)
    assert (FOLDER / "training.json").stat().st_size < 100_000


def test_the_recorded_training_shows_induction_appear(history):
    """Where the head turns up, what was said before gets cheap, and fresh text hardly notices."""
    looks = {look["step"]: look for look in history["looks"]}
    assert looks[250]["induction"] < 0.1
    assert looks[900]["induction"] > 0.8
    assert looks[600]["again"] - looks[1000]["again"] > 5 > 10 * (looks[600]["loss"] - looks[1000]["loss"])
    assert abs(looks[500]["first"] - looks[500]["again"]) < 0.5
    assert looks[2000]["first"] - looks[2000]["again"] > 10
    assert looks[0]["loss"] > history["uniform"] > looks[50]["loss"]


def test_looking_at_a_training_changes_no_weight(tokenizer):
    recipe = nano.Recipe(steps=3, documents=60)
    rows = [nano.Rows(nano.corpus(tokenizer, 0, 60), 50257, tokenizer.end_of_text, 0) for _ in range(2)]
    watcher = watched.Watcher(rows[1], tokenizer, recipe)
    watcher.fresh = watcher.fresh[:2]
    plain, seen = nano.train(rows[0], recipe), nano.train(rows[1], recipe, watcher.report, watcher.watch)
    assert [look["step"] for look in watcher.seen] == [0, 2, 3]
    assert len(watcher.losses) == 3
    for name, weight in plain.state_dict().items():
        assert torch.equal(weight, seen.state_dict()[name]), name
