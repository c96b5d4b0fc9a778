"""Texts written together and prompts read together: each gets what it gets alone, whoever its neighbours are."""

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.lab.writing import sampling
from gptviz.lab.writing.sampling import Settings
from gptviz.lab.writing.writer import Writing
from gptviz.service import Keep, Service, crowd
from gptviz.service.ticket import Left, Ticket

# Largest |Δ logit| of a row, written or read, over the largest |logit|: measured 9e-7 (nano), 4e-6 (SmolLM2).
SHARE = 1e-5
TEXTS = ["The cat sat on", "Once upon a time there was a small", "One day", "The dog and the bird went to the old"]


@pytest.fixture
def service(nano: Decoder) -> Service:
    service = Service()
    service.add(nano)
    return service


def asked(nano: Decoder) -> list[tuple]:
    """Prompts of many lengths, half of them drawn with a seed of their own."""
    random.seed(1)
    found = []
    for i in range(24):
        ids = nano.tokenizer.encode(TEXTS[i % 4]) * (1 + i % 3) + [random.randrange(1000)]
        found.append((ids, i if i % 2 else None, 4 + i % 20))
    return found


def written(decoder: Decoder, ask: tuple, stream=None, keep_logits: bool = True) -> list:
    ids, seed, n = ask
    choose = sampling.greedy if seed is None else sampling.sampler(Settings(0.9, top_k=50), seed)
    return list(Writing(decoder, ids, choose, max_new_tokens=n, keep_logits=keep_logits, stream=stream))


@pytest.mark.parametrize(("model", "most"), [("nano", 24), ("smollm2", 6)])
def test_a_text_is_the_same_alone_and_in_a_crowd(model: str, most: int, request: pytest.FixtureRequest) -> None:
    decoder: Decoder = request.getfixturevalue(model)
    service = Service()
    service.add(decoder)
    asks = [(ids, seed, min(n, most)) for ids, seed, n in asked(decoder)][:most]
    alone = [written(decoder, ask) for ask in asks]
    before = decoder.passes
    stream = service.writer(decoder)
    gate = threading.Event()
    threading.Thread(target=lambda: service.worker.run(gate.wait)).start()  # so that all stand in the line
    with ThreadPoolExecutor(24) as pool:
        crowd_ = [pool.submit(written, decoder, ask, stream) for ask in asks]
        time.sleep(0.3)
        gate.set()
        together = [each.result() for each in crowd_]
    for one, other in zip(alone, together, strict=True):
        assert [step.id for step in one] == [step.id for step in other]
        for a, b in zip(one, other, strict=True):
            assert float((a.logits - b.logits).abs().max()) <= SHARE * float(a.logits.abs().max())
    assert decoder.passes - before < sum(map(len, alone)) / 2  # steps were shared


def test_one_text_alone_is_made_by_the_very_passes_of_one_text(service: Service, nano: Decoder) -> None:
    for ask in asked(nano)[:3]:
        alone, here = written(nano, ask), written(nano, ask, service.writer(nano))
        assert [step.id for step in alone] == [step.id for step in here]
        assert all(torch.equal(a.logits, b.logits) for a, b in zip(alone, here, strict=True))


def test_texts_join_and_leave_between_two_tokens(service: Service, nano: Decoder) -> None:
    stream, ids = service.writer(nano), nano.tokenizer.encode(TEXTS[0])
    long = stream(ids, sampling.greedy, max_new_tokens=200)
    first = [next(long).id for _ in range(3)]
    short = [step.id for step in stream(ids, sampling.greedy, max_new_tokens=5)]
    assert short[:3] == first
    long.close()
    the_crowd = service._crowds[nano.identity]
    end = time.monotonic() + 2
    while the_crowd._stepping and time.monotonic() < end:
        time.sleep(0.01)
    assert not the_crowd._stepping
    assert the_crowd._texts == []


def test_an_error_ends_one_text_and_not_its_neighbours(service: Service, nano: Decoder) -> None:
    stream, ids = service.writer(nano), nano.tokenizer.encode(TEXTS[0])

    def bad(logits: torch.Tensor) -> int:
        raise UserError("no_token")

    with ThreadPoolExecutor(3) as pool:
        good = [pool.submit(lambda: [s.id for s in stream(ids, sampling.greedy, max_new_tokens=30)]) for _ in range(2)]
        with pytest.raises(UserError, match="text has no token"):
            list(stream(ids, bad, max_new_tokens=30))
        assert len(good[0].result()) == 30
        assert good[0].result() == good[1].result()


def test_who_leaves_stops_waiting_at_once(service: Service, nano: Decoder) -> None:
    ticket, gate = Ticket(long=True), threading.Event()
    threading.Thread(target=lambda: service.worker.run(gate.wait)).start()
    service._crowds.setdefault(nano.identity, crowd.Crowd(service.worker, nano))

    def read() -> None:
        with ticket.held(), pytest.raises(Left):
            list(service.writer(nano)([1, 2, 3], sampling.greedy, max_new_tokens=5))

    reader = threading.Thread(target=read)
    reader.start()
    time.sleep(0.1)
    ticket.leave()
    reader.join(1.0)
    assert not reader.is_alive()
    gate.set()


@pytest.mark.parametrize("use_cache", [True, False])
def test_a_model_that_is_not_written_out_is_written_alone(tiny_llama: Decoder, monkeypatch, use_cache: bool) -> None:
    service = Service()
    service.add(tiny_llama)
    monkeypatch.setattr(tiny_llama, "_fast", None)
    monkeypatch.setattr(tiny_llama, "_sought", True)
    extent = {"max_new_tokens": 8, "use_cache": use_cache}
    found = [step.id for step in service.writer(tiny_llama)([5, 6, 7], sampling.greedy, **extent)]
    assert found == [step.id for step in tiny_llama.stream([5, 6, 7], sampling.greedy, **extent)]
    assert service._crowds[tiny_llama.identity]._texts == []


def test_texts_wait_where_their_caches_would_not_fit(service: Service, nano: Decoder, monkeypatch) -> None:
    monkeypatch.setattr(crowd, "BYTES", 0)
    alone = [written(nano, ask) for ask in asked(nano)[:4]]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda ask: written(nano, ask, service.writer(nano)), asked(nano)[:4]))
    assert all(
        torch.equal(a.logits, b.logits) for x, y in zip(alone, found, strict=True) for a, b in zip(x, y, strict=True)
    )


# Prompts


def test_prompts_that_wait_are_read_as_one_batch(service: Service, nano: Decoder) -> None:
    texts = [ask[0] for ask in asked(nano)]
    alone = [nano.run(ids, residual=True) for ids in texts]
    before = nano.passes
    gate = threading.Event()
    threading.Thread(target=lambda: service.worker.run(gate.wait)).start()
    with ThreadPoolExecutor(24) as pool:
        waiting = [pool.submit(service.run, nano, ids, keep=Keep(residual=True), exact=False) for ids in texts]
        time.sleep(0.3)
        gate.set()
        found = [each.result() for each in waiting]
    assert nano.passes - before <= 4
    for one, other in zip(alone, found, strict=True):
        assert other.ids == one.ids
        assert float((one.logits[-1] - other.logits[-1]).abs().max()) <= SHARE * float(one.logits.abs().max())
        assert float((one.residual - other.residual).abs().max()) <= SHARE * float(one.residual.abs().max())


def test_who_leaves_the_line_takes_nobody_along(service: Service, nano: Decoder) -> None:
    ticket, gate = Ticket(), threading.Event()
    threading.Thread(target=lambda: service.worker.run(gate.wait)).start()

    def read() -> None:
        with ticket.held(), pytest.raises(Left):
            service.run(nano, [1, 2, 3], exact=False)

    reader = threading.Thread(target=read)
    reader.start()
    with ThreadPoolExecutor(3) as pool:
        others = [pool.submit(service.run, nano, [5, 6, i], exact=False) for i in range(3)]
        time.sleep(0.2)
        ticket.leave()
        reader.join(1.0)
        assert not reader.is_alive()
        gate.set()
        for i, other in enumerate(others):
            assert other.result(5).ids == [5, 6, i]


def test_a_batch_that_fails_leaves_each_to_itself(service: Service, nano: Decoder, monkeypatch) -> None:
    def fails(rows: list) -> None:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(nano, "batch_last", fails)
    gate = threading.Event()
    threading.Thread(target=lambda: service.worker.run(gate.wait)).start()
    with ThreadPoolExecutor(4) as pool:
        found = [pool.submit(service.run, nano, [5, 6, i], exact=False) for i in range(4)]
        time.sleep(0.2)
        gate.set()
        assert [each.result(5).ids[-1] for each in found] == [0, 1, 2, 3]


def test_one_prompt_alone_is_exact_and_keeps_all_for_the_other_pages(service: Service, nano: Decoder) -> None:
    ids = nano.tokenizer.encode(TEXTS[1])
    assert torch.equal(service.run(nano, ids, exact=False).logits[-1], nano.run(ids).logits[-1])
    before = nano.passes
    service.run(nano, ids, keep=Keep(attention=frozenset([1])))
    assert nano.passes == before


def test_who_compares_bits_is_never_given_a_row_of_a_batch(service: Service, nano: Decoder) -> None:
    texts = [ask[0] for ask in asked(nano)[:6]]
    gate = threading.Event()
    threading.Thread(target=lambda: service.worker.run(gate.wait)).start()
    with ThreadPoolExecutor(12) as pool:
        soft = [pool.submit(service.run, nano, ids, exact=False) for ids in texts]
        hard = [pool.submit(service.run, nano, ids) for ids in texts]
        time.sleep(0.3)
        gate.set()
        assert [each.result() for each in soft]
        assert all(
            torch.equal(each.result().logits[-1], nano.run(ids).logits[-1])
            for each, ids in zip(hard, texts, strict=True)
        )


def test_experts_are_never_put_into_a_batch(service: Service, nano: Decoder, monkeypatch) -> None:
    assert service._runs._gather.takes(nano)
    monkeypatch.setattr(nano.experts, "gathers", True, raising=False)
    assert not service._runs._gather.takes(nano)
