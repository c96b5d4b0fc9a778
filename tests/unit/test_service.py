"""Limits before work, one forward for equal requests, a cache that stays bounded, and no user's data at another's."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from gptviz.decoder.errors import UserError
from gptviz.lab.teaching import copying, judged
from gptviz.lab.teaching.twin import Twin
from gptviz.lessons import twins as lesson
from gptviz.service import Service
from gptviz.service.cache import Cache as Shelf
from gptviz.service.service import MAX_CHARACTERS
from gptviz.service.worker import Worker


@pytest.fixture
def service(nano):
    service = Service()
    service.add(nano)
    return service


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        ("a " * 300, "tokens"),
        ("\ud800", "surrogate"),
        ("x" * (MAX_CHARACTERS + 1), "characters"),
        (None, "string"),
    ],
    ids=["empty", "over the context", "half a pair", "too long", "no text"],
)
def test_a_bad_text_gets_one_sentence(service, text, says):
    with pytest.raises(UserError, match=says) as refusal:
        service.encode(text)
    assert "\n" not in str(refusal.value)
    assert str(refusal.value).endswith(".")


def test_thirty_megabytes_are_refused_before_they_are_tokenized(service, monkeypatch):
    monkeypatch.setattr(service.decoder().tokenizer, "encode", lambda *_: pytest.fail("tokenized"))
    with pytest.raises(UserError, match="characters"):
        service.encode("a" * 30_000_000)


def test_end_of_text_typed_by_hand_is_plain_text(service):
    tokens = service.tokens("<|endoftext|>")["tokens"]
    assert len(tokens) > 1
    assert bytes(b for t in tokens for b in t["bytes"]) == b"<|endoftext|>"


def test_an_unknown_model_is_refused_with_the_names_there_are(service):
    with pytest.raises(UserError, match="nano"):
        service.encode("hello", "gpt5")


def test_models_has_one_row_for_each_model_the_default_first(service, tiny_gpt2):
    service.add(tiny_gpt2)
    rows = service.models()
    assert [row["name"] for row in rows] == ["tiny-gpt2", "nano"]
    assert rows[1]["parameters"] == sum(p.numel() for p in service.decoder("nano").model.parameters())


def test_equal_requests_at_once_share_one_run():
    shelf, worker, calls = Shelf(1000), Worker(), []

    def work():
        calls.append(1)
        time.sleep(0.1)
        return object()

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: shelf.get("key", lambda: worker.run(work), lambda _: 1), range(8)))
    assert len(calls) == 1
    assert all(result is results[0] for result in results)


def test_an_error_reaches_all_who_wait_and_is_not_kept():
    shelf = Shelf(1000)

    def fail():
        raise UserError("no_token")

    for _ in range(2):
        with pytest.raises(UserError):
            shelf.get("key", fail, lambda _: 1)
    assert shelf.get("key", lambda: 5, lambda _: 1) == 5


def test_the_shelf_drops_the_oldest_and_stays_within_its_bytes():
    shelf, made = Shelf(100), []
    for key in [1, 2, 3, 1, 4]:
        shelf.get(key, partial(made.append, key), lambda _: 33)
    assert made == [1, 2, 3, 4]
    assert shelf.bytes <= 100
    shelf.get(1, lambda: made.append("again"), lambda _: 33)  # 1 was used last but one: still there
    shelf.get(2, lambda: made.append("gone") or 2, lambda _: 33)
    assert made == [1, 2, 3, 4, "gone"]
    shelf.get("huge", lambda: 0, lambda _: 1000)
    assert shelf.bytes <= 100


def test_a_stream_leaves_room_for_others_and_closes_when_left():
    worker, closed = Worker(), threading.Event()

    def endless():
        try:
            while True:
                yield threading.current_thread().name
        finally:
            closed.set()

    stream = worker.each(endless())
    assert next(stream).startswith("gptviz-model")
    assert worker.run(lambda: 7) == 7
    stream.close()
    assert closed.is_set()


def test_a_short_request_runs_between_the_layers_of_a_long_one():
    worker, order = Worker(), []
    inside, asked = threading.Event(), threading.Event()

    def long():
        inside.set()
        asked.wait(10)
        while worker._jobs.empty():  # the short one is on its way
            time.sleep(0.01)
        worker.breathe()
        order.append("long")

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(worker.run, long)
        inside.wait(10)
        second = pool.submit(worker.run, lambda: order.append("short"))
        asked.set()
        first.result(10)
        second.result(10)
    assert order == ["short", "long"]


def test_a_training_step_may_run_between_the_layers_of_a_forward_pass(service):
    """The forward runs in inference mode, and what runs in the middle of it must not."""
    decoder, losses = service.decoder(), []
    pool = ThreadPoolExecutor(1)

    def train() -> None:
        *_, end = copying.race(steps=2)
        losses.append(end.shifted[-1])

    def between() -> None:
        decoder.between_layers = None
        pool.submit(service.worker.run, train)
        while service.worker._jobs.empty():
            time.sleep(0.01)
        service.worker.breathe()
        assert len(losses) == 1

    decoder.between_layers = between
    try:
        service.worker.run(lambda: decoder.run([1, 2, 3]))
    finally:
        decoder.between_layers = service.worker.breathe
    *_, alone = copying.race(steps=2)
    assert losses == [alone.shifted[-1]]


def test_states_come_at_their_pace_and_the_last_one_always():
    worker = Worker()
    assert list(worker.each(iter(range(100)))) == list(range(100))
    assert list(worker.each(iter(range(100)), every=1e6)) == [0, 99]
    assert list(worker.each(iter([]), every=1e6)) == []
    assert list(worker.each(iter([5]), every=1e6)) == [5]


def test_only_so_many_trainings_run_at_once_and_a_closed_one_makes_room(service):
    running: list[int] = []

    def states(number: int):
        running.append(number)
        try:
            while True:
                yield number
        finally:
            running.remove(number)

    first, second, third = (service.train(states(number)) for number in (1, 2, 3))
    assert (next(first), next(second)) == (1, 2)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(next, third)
        time.sleep(0.1)
        assert not waiting.done()
        assert running == [1, 2]
        first.close()
        assert waiting.result(10) == 3
    assert running == [2, 3]
    second.close()
    third.close()
    assert running == []


def test_the_twins_train_on_the_worker(service):
    names = set()
    step = Twin.step

    def watched(self, ids, rate):
        names.add(threading.current_thread().name)
        step(self, ids, rate)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Twin, "step", watched)
        for name, count in (("SAMPLES", 2), ("EVALUATED", 2), ("PREFIXED", 2)):
            patch.setattr(judged, name, count)
        *_, end = lesson.training(service, steps=3)
    assert (end.done, names) == (True, {"gptviz-model"})


def test_a_forward_pass_lets_others_in_after_every_block(service):
    calls = []
    decoder = service.decoder()
    decoder.between_layers, before = lambda: calls.append(1), decoder.between_layers
    decoder.run([1, 2, 3])
    decoder.between_layers = before
    assert len(calls) == decoder.shape.layers


def test_a_panel_and_a_layer_agree_and_the_second_is_free(service, monkeypatch):
    decoder, ids = service.encode("The cat sat on the mat because the cat was tired")
    panel = service.panel(decoder, ids)
    monkeypatch.setattr(decoder, "run", lambda *a, **k: pytest.fail("a second forward pass"))
    assert service.panel(decoder, ids) is panel
    assert service.layer(decoder, ids, 1).weights.shape == (decoder.shape.heads, len(ids), len(ids))


def test_bad_panel_sizes_and_layers_are_refused(service):
    decoder, ids = service.encode("hello there")
    for call in (lambda: service.panel(decoder, ids, size=0), lambda: service.layer(decoder, ids, 99)):
        with pytest.raises(UserError):
            call()
