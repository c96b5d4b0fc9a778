"""Several continuations at once against each one alone."""

from gptviz.lab.writing import sampling
from gptviz.lab.writing.sampling import Settings
from gptviz.lab.writing.strategies import contest, write
from gptviz.lab.writing.writer import BeamSearch, Writing, loops

CHOSEN = [None, Settings(), Settings(0.8, 10, 0.9)]


def test_each_text_is_what_it_would_be_alone(nano):
    ids = nano.tokenizer.encode("The dog")
    states = list(contest(nano, ids, CHOSEN, beams=3, seed=7, max_new_tokens=9))
    last = states[-1]
    for settings, text in zip(CHOSEN, last.texts, strict=False):
        choose = sampling.sampler(settings, 7) if settings else sampling.greedy
        alone = Writing(nano, ids, choose, max_new_tokens=9, keep_logits=True)
        p = [float(step.logits.double().softmax(-1)[step.id]) for step in alone]
        assert (text.ids, text.stop, text.p) == (alone.ids, alone.stop, p)
        assert text.loops == loops(alone.ids)
    search = BeamSearch(nano, ids, beams=3, max_new_tokens=9)
    list(search)
    assert last.texts[-1].ids == search.finished[0].ids
    assert last.texts[-1].stop == search.stop
    assert [search.nodes[k].id for k in last.best] == search.finished[0].ids
    assert last.tree == search.nodes
    assert all(text.stop for text in last.texts)


def test_texts_grow_side_by_side(tiny_gpt2):
    lengths = [
        [len(t.ids) for t in s.texts] for s in contest(tiny_gpt2, [1, 2], CHOSEN, beams=2, seed=0, max_new_tokens=4)
    ]
    assert lengths[0] == [1, 1, 1, 1]
    assert lengths[-1] == [4, 4, 4, 4]


def test_a_full_context_ends_every_text(tiny_gpt2):
    full = [5] * tiny_gpt2.shape.context
    [state] = contest(tiny_gpt2, full, CHOSEN, beams=2, seed=0, max_new_tokens=4)
    assert [(t.ids, t.stop) for t in state.texts] == [([], "context")] * 4


def test_a_run_continues_the_seeded_draws(nano):
    ids = nano.tokenizer.encode("The dog")
    whole = list(write(nano, ids, Settings(1.3, 50), seed=2, start=0, max_new_tokens=6))[-1]
    rest = list(
        write(nano, ids + whole.ids[:2], Settings(1.3, 50), seed=2, start=2, max_new_tokens=len(whole.ids) - 2)
    )[-1]
    assert rest.ids == whole.ids[2:]
