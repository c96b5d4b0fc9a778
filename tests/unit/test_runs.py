"""One cache of runs: what serves whom, what a key must hold, and what must never be waited for."""

from __future__ import annotations

import copy
import operator
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from gptviz.decoder.attention import CAUSAL, MaskRule
from gptviz.decoder.decoder import Decoder
from gptviz.decoder.edits import Edits
from gptviz.decoder.tokens import Tokenizer
from gptviz.lab.looking import heads
from gptviz.lab.masking import leak, mask_ways, prefix
from gptviz.service import Keep, Service
from gptviz.service import runs as runs_module
from gptviz.service.cache import Cache, frozen, nbytes
from gptviz.service.runs import everything
from tests import tiny

IDS = [(37 * i + 11) % 5000 for i in range(12)]
OPEN = MaskRule("none")


def small_model(seed: int, name: str = "small") -> Decoder:
    torch.manual_seed(seed)
    config = GPT2Config(n_layer=3, n_head=2, n_embd=16, n_positions=64, initializer_range=0.3)
    return Decoder.from_model(GPT2LMHeadModel(config), Tokenizer.gpt2(), name=name)


@pytest.fixture(scope="module")
def pair() -> tuple[Decoder, Decoder]:
    """Two models of one shape and one name, with other weights."""
    return small_model(1), small_model(2)


@pytest.fixture
def service(pair) -> Service:
    service = Service()
    for decoder in pair:
        service.add(decoder)
    return service


def passes(decoder: Decoder, work) -> int:
    before = decoder.passes
    work()
    return decoder.passes - before


# What a run kept serves


def test_a_run_that_holds_more_serves_one_who_wants_less_bit_for_bit(service, pair):
    decoder, _ = pair
    whole = service.run(decoder, IDS, keep=everything(decoder))
    wanted = [Keep(), Keep(all_logits=True), Keep(residual=True), Keep(attention=frozenset({1}), inputs=frozenset({2}))]
    assert passes(decoder, lambda: [service.run(decoder, IDS, keep=keep) for keep in wanted]) == 0
    plain = decoder.run(IDS, residual=True, inputs=[2])
    assert torch.equal(whole.logits, plain.logits)
    assert torch.equal(whole.residual, plain.residual)
    assert torch.equal(whole.inputs[2].key, plain.inputs[2].key)


def test_a_small_run_keeps_everything_at_once_and_a_large_one_what_is_asked(service, pair, monkeypatch):
    decoder, _ = pair
    service.run(decoder, IDS)
    assert passes(decoder, lambda: service.run(decoder, IDS, keep=everything(decoder))) == 0
    monkeypatch.setattr(runs_module, "GENEROUS", 0)
    other = IDS[:7]
    run = service.run(decoder, other)
    assert (run.logits.shape[0], run.residual, run.attention, run.inputs) == (1, None, {}, {})
    assert passes(decoder, lambda: service.run(decoder, other, keep=Keep(residual=True))) == 1
    assert service.run(decoder, other, keep=Keep(residual=True)).residual.shape == (4, 7, 16)
    assert service.run(decoder, other, keep=Keep(attention=frozenset({1}))).attention.keys() == {1}


def test_what_was_held_is_not_lost_when_more_is_asked(service, pair, monkeypatch):
    decoder, _ = pair
    monkeypatch.setattr(runs_module, "everything", lambda decoder: Keep(attention=frozenset(range(10**6))))  # too much
    for keep in (Keep(residual=True), Keep(all_logits=True)):
        service.run(decoder, IDS, keep=keep)
    both = Keep(all_logits=True, residual=True)
    assert passes(decoder, lambda: service.run(decoder, IDS, keep=both)) == 0


# What a key must hold


def test_each_model_rule_and_text_has_a_run_of_its_own(service, pair):
    one, other = pair
    for decoder in pair:
        for rule in (CAUSAL, OPEN, MaskRule("none", frozenset({1})), MaskRule("wrong_way", frozenset({1}))):
            for ids in (IDS, IDS[:-1]):
                run = service.run(decoder, ids, rule, keep=Keep(all_logits=True))
                assert torch.equal(run.logits, decoder.run(ids, rule=rule).logits)
    assert not torch.equal(service.run(one, IDS).logits[-1], service.run(other, IDS).logits[-1])


def test_an_edited_pass_is_another_and_no_edit_is_none(service, pair):
    decoder, _ = pair
    runs = service.runs(decoder)
    off = Edits(frozenset({(1, 0)}))
    plain, edited, mean = runs(IDS), runs(IDS, edits=off), runs(IDS, edits=Edits(off.heads, mode="mean"))
    assert torch.equal(edited.logits, decoder.run(IDS, edits=off).logits)
    assert not torch.equal(plain.logits, edited.logits)
    assert not torch.equal(mean.logits, edited.logits)
    assert passes(decoder, lambda: [runs(IDS, edits=Edits()), runs(IDS, edits=off), runs(IDS)]) == 0


def test_one_row_at_a_time_is_another_pass_where_experts_sort_rows(service, pair):
    decoder, _ = pair
    runs = service.runs(decoder)
    runs(IDS)
    assert passes(decoder, lambda: runs(IDS, one_row=True)) == 0  # no experts: the same pass
    mixed = Decoder.from_model(tiny.model("mixtral", **tiny.MIXTRAL), Tokenizer.gpt2(), name="experts")
    service.add(mixed)
    assert mixed.experts.gathers
    alone = service.runs(mixed)
    ids = [i % mixed.shape.vocabulary for i in IDS]
    assert passes(mixed, lambda: [alone(ids), alone(ids, one_row=True), alone(ids), alone(ids, one_row=True)]) == 2


def test_each_layer_is_its_own(service, pair):
    decoder, _ = pair
    plain = decoder.run(IDS, capture=range(3))
    for layer in range(3):
        assert torch.equal(service.layer(decoder, IDS, layer).weights, plain.attention[layer].weights)
        found = service.once(decoder, mask_ways.compare_ways, IDS, layer)
        assert found == mask_ways.compare_ways(decoder, IDS, layer)
    assert len({service.once(decoder, mask_ways.compare_ways, IDS, layer).size for layer in range(3)}) == 3


def test_an_experiment_is_made_anew_for_each_argument(service, pair):
    one, other = pair
    calls = [
        (one, (IDS, 5, CAUSAL, "edit")),
        (one, (IDS, 6, CAUSAL, "edit")),  # another prefix
        (one, (IDS, 5, OPEN, "edit")),  # another rule
        (one, (IDS, 5, CAUSAL, "truncate")),  # another method
        (one, (IDS, 5, CAUSAL, "edit", [7])),  # another ending
        (other, (IDS, 5, OPEN, "edit")),  # another model: without the mask the two move differently
    ]
    for decoder, args in calls * 2:
        found, expected = service.once(decoder, prefix.check, *args), prefix.check(decoder, *args)
        assert (found.other, found.keep, found.method, found.rule) == (
            expected.other, expected.keep, expected.method, expected.rule,
        )  # fmt: skip
        assert torch.equal(found.deltas, expected.deltas)
    assert passes(one, lambda: [service.once(decoder, prefix.check, *args) for decoder, args in calls]) == 0
    assert not torch.equal(*(service.once(decoder, prefix.check, IDS, 5, OPEN, "edit").deltas for decoder in pair))


def test_sizes_and_rules_of_a_panel_are_told_apart(service, pair):
    decoder, _ = pair
    shapes = [service.panel(decoder, IDS, size=size).thumbnails.shape[-1] for size in (4, 12, 4)]
    assert shapes == [4, 12, 4]
    opened = service.panel(decoder, IDS, rule=OPEN)
    assert opened.thumbnails.triu(1).count_nonzero() > 0
    assert service.panel(decoder, IDS).thumbnails.triu(1).count_nonzero() == 0
    assert torch.equal(service.panel(decoder, IDS).thumbnails, heads.panel(decoder, IDS, torch.zeros(3, 2)).thumbnails)


def test_experiments_with_equal_arguments_are_told_apart(service, pair):
    decoder, _ = pair
    mass = service.once(decoder, leak.leaked_mass, IDS, OPEN)
    assert torch.equal(mass, leak.leaked_mass(decoder, IDS, OPEN))
    assert service.once(decoder, _other_experiment, IDS, OPEN) == "another"


def _other_experiment(decoder: Decoder, ids: list[int], rule: MaskRule) -> str:
    return "another"


def test_types_are_part_of_a_key():
    assert frozen((1, 2)) == frozen([1, 2])
    different = [1, True, 1.0, "1", (1,), {1}, {1: 1}, None, CAUSAL, OPEN, MaskRule("none", frozenset({1}))]
    assert len({frozen(value) for value in different}) == len(different)


@pytest.mark.parametrize("value", [torch.zeros(1), object(), lambda: 0, [torch.zeros(1)]])
def test_what_cannot_be_compared_is_no_part_of_a_key(value):
    with pytest.raises(TypeError, match="no key from a value of type"):
        frozen(value)


def test_a_function_that_could_depend_on_more_than_its_arguments_is_refused(service, pair):
    def inner(decoder):
        return 1

    for experiment in (inner, lambda decoder: 1):
        with pytest.raises(TypeError, match="is no function of a module"):
            service.once(pair[0], experiment)


# Exactness


def test_a_row_of_a_batch_serves_only_those_who_need_no_exact_zero(service, pair):
    decoder, _ = pair
    rows = [(IDS, OPEN), (IDS, MaskRule("wrong_way")), (IDS[:5], CAUSAL), ([*IDS, 0, 0, 0], CAUSAL)]
    assert passes(decoder, lambda: service.together(decoder, rows, layers=[1])) == 1
    runs = service.runs(decoder)
    for ids, rule in rows:
        alone = decoder.run(ids, rule=rule, inputs=[1])
        before = decoder.passes
        row = runs(ids, rule=rule, inputs=[1], exact=False)
        assert decoder.passes == before
        assert row.logits.shape == alone.logits.shape
        assert (row.logits - alone.logits).abs().max() <= 1e-4
        assert (row.inputs[1].key - alone.inputs[1].key).abs().max() <= 1e-4
        assert (row.inputs[1].value - alone.inputs[1].value).abs().max() <= 1e-4
        assert torch.equal(runs(ids, rule=rule).logits, alone.logits)
        assert decoder.passes == before + 1
    assert passes(decoder, lambda: service.together(decoder, rows, layers=[1])) == 0


def test_the_zeros_of_a_contamination_stay_exact_from_the_cache(service, pair):
    decoder, _ = pair
    service.together(decoder, [(IDS, OPEN), (IDS, MaskRule("wrong_way"))])
    service.run(decoder, IDS, keep=everything(decoder))
    found = service.once(decoder, leak.contamination, IDS, 6, 777, CAUSAL)
    assert torch.count_nonzero(found.change[:, :6]) == 0
    assert torch.count_nonzero(found.logit_change[:6]) == 0
    backwards = service.once(decoder, leak.contamination, IDS, 6, 777, MaskRule("wrong_way"))
    assert torch.count_nonzero(backwards.change[:, 7:]) == 0


# The cache itself


def test_equal_requests_in_flight_share_one_pass(service, pair):
    decoder, _ = pair
    gate = threading.Event()
    blocked = threading.Thread(target=service.worker.run, args=[gate.wait])
    blocked.start()
    wanted = [Keep(), Keep(all_logits=True), Keep(residual=True), Keep(attention=frozenset({0}))]

    def ask_all() -> None:
        with ThreadPoolExecutor(8) as pool:
            asked = [pool.submit(service.run, decoder, IDS[:9], keep=wanted[i % 4]) for i in range(8)]
            gate.set()
            assert len({id(future.result(20)) for future in asked}) == 1

    assert passes(decoder, ask_all) == 1
    blocked.join()


def test_the_worker_never_waits_for_a_pass_that_stands_behind_it_in_the_line(service, pair):
    decoder, _ = pair
    inside, asked = threading.Event(), threading.Event()

    def experiment() -> torch.Tensor:
        inside.set()
        asked.wait(10)
        return service.run(decoder, IDS[:8]).logits

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(service.worker.run, experiment)
        assert inside.wait(10)
        second = pool.submit(service.run, decoder, IDS[:8])  # pending, and waits for the worker
        while not service._cache._pending:
            pass
        asked.set()
        assert torch.equal(first.result(20), second.result(20).logits)


def test_bytes_are_bounded_and_counted(pair):
    cache = Cache(10_000)
    for i in range(50):
        cache.get(("k", i), lambda: torch.zeros(300), nbytes)
        assert cache.bytes <= 10_000
    assert cache.peek(("k", 49)) is not None
    assert cache.peek(("k", 0)) is None
    decoder, _ = pair
    run = decoder.run(IDS, residual=True, capture=[0], inputs=[1])
    tensors = [run.logits, run.residual, run.attention[0].scores, run.attention[0].weights]
    tensors += [run.inputs[1].query, run.inputs[1].key, run.inputs[1].value]
    tensors += [run.seen[0]]  # the one mask that both layers share
    assert run.nbytes == sum(t.nbytes for t in tensors)
    assert run.nbytes <= nbytes(run) <= run.nbytes + 4096


def test_a_value_replaced_under_its_key_is_counted_once():
    cache = Cache(1000)
    for size in (100, 200, 300):
        cache.get("key", partial(bytes, size), len, offer=size, serves=partial(operator.le, size))
        assert cache.bytes == size
    cache.clear()
    assert cache.bytes == 0


def test_decoders_are_told_apart_by_what_they_are(pair):
    one, other = pair
    assert one.identity != other.identity
    twin = Decoder.from_model(copy.deepcopy(one.model), one.tokenizer, name=one.name)
    assert twin.identity not in (one.identity, other.identity)
    assert len({one, other, twin}) == 3
