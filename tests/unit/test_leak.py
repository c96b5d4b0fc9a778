"""What leaks and what does not: every zero is compared with zero, not with something small."""

from __future__ import annotations

import copy
import textwrap

import pytest
import torch

from gptviz.decoder.attention import CAUSAL, MaskRule
from gptviz.decoder.errors import UserError
from gptviz.lab.masking import leak, mask_ways
from gptviz.lab.surprise import surprisal
from gptviz.service.wire import as_json

SENTENCE = "The cat that the dog saw sat on the old red mat"
SHAPES = ["tiny_gpt2", "tiny_llama", "nano", "smollm2"]
SMALL = SHAPES[:3]


@pytest.fixture(params=SHAPES)
def decoder(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(params=SMALL)
def small(request):
    return request.getfixturevalue(request.param)


def ids_of(decoder) -> list[int]:
    return decoder.tokenizer.encode(SENTENCE)[:12]


def change(decoder, rule, position=7):
    ids = ids_of(decoder)
    return leak.contamination(decoder, ids, position, leak.one_token(decoder, " green"), rule)


def zeros(values: torch.Tensor) -> bool:
    return int(torch.count_nonzero(values)) == 0


def test_with_the_mask_nothing_moves_left_of_the_edit(decoder):
    found = change(decoder, CAUSAL)
    assert found.change.shape == (decoder.shape.layers + 1, 12)
    assert zeros(found.change[:, :7])
    assert zeros(found.logit_change[:7])
    assert (found.change[1:, 7:] > 0).all()
    assert (found.logit_change[7:] > 0).all()
    assert zeros(found.change[0, 8:])  # the embedding of one token is its own affair


@pytest.mark.parametrize("direction", ["none", "wrong_way"])
def test_opening_one_layer_fills_the_rows_after_it_and_none_before(decoder, direction):
    some = direction == "wrong_way" and decoder.shape.layers > 4  # thirty layers twice would say it no better
    for layer in (0, 14, 29) if some else range(decoder.shape.layers):
        found = change(decoder, MaskRule(direction, frozenset({layer})))
        assert zeros(found.change[: layer + 1, :7]), layer
        assert (found.change[layer + 1 :, :7] > 0).all(), layer
        assert (found.logit_change[:7] > 0).all(), layer


def test_opening_several_layers_fills_from_the_first_of_them(small):
    last = small.shape.layers - 1
    found = change(small, MaskRule("none", frozenset({1, last})))
    assert zeros(found.change[:2, :7])
    assert (found.change[2:, :7] > 0).all()


def test_the_wrong_way_everywhere_moves_only_the_left(decoder):
    found = change(decoder, MaskRule("wrong_way"))
    assert (found.change[1:, :8] > 0).all()
    assert zeros(found.change[:, 8:])


def test_the_first_token_reaches_everything_and_the_last_only_itself(small):
    assert (change(small, CAUSAL, position=0).change[1:] > 0).all()
    assert zeros(change(small, CAUSAL, position=11).change[:, :11])


def test_the_contamination_map_equals_two_runs_subtracted_in_plain_sight(tiny_llama):
    ids = ids_of(tiny_llama)
    edited = [*ids[:7], leak.one_token(tiny_llama, " green"), *ids[8:]]
    with torch.inference_mode():
        a = tiny_llama.model.model(torch.tensor([ids]), output_hidden_states=True, use_cache=False).hidden_states
        b = tiny_llama.model.model(torch.tensor([edited]), output_hidden_states=True, use_cache=False).hidden_states
    expected = torch.stack([(x - y).abs().amax(-1)[0] for x, y in zip(a, b, strict=True)])
    assert torch.equal(change(tiny_llama, CAUSAL).change[:-1], expected[:-1])  # theirs ends after the final norm


def test_influence_is_lower_triangular_with_exact_zeros_above(decoder):
    matrix = leak.influence(decoder, ids_of(decoder))
    assert zeros(matrix.triu(1))
    assert (matrix[torch.ones(12, 12, dtype=torch.bool).tril()] > 0).all()


@pytest.mark.parametrize("direction", ["none", "wrong_way"])
def test_influence_of_one_open_layer_reaches_the_left(small, direction):
    for layer in range(small.shape.layers):
        matrix = leak.influence(small, ids_of(small), MaskRule(direction, frozenset({layer})))
        assert (matrix[torch.ones(12, 12, dtype=torch.bool).triu(1)] > 0).all(), layer


def test_influence_of_the_wrong_way_is_upper_triangular(small):
    assert zeros(leak.influence(small, ids_of(small), MaskRule("wrong_way")).tril(-1))


def test_influence_rows_equal_one_edit_alone(small):
    ids = ids_of(small)
    matrix = leak.influence(small, ids)
    for j in (0, 5, 11):
        alone = leak.contamination(small, ids, j, leak.one_token(small, " the"), CAUSAL).logit_change
        assert torch.allclose(matrix[:, j], alone, atol=1e-3)


@pytest.mark.parametrize("T", [1, 33, 64])
def test_influence_zeros_are_exact_in_batches_of_any_size(tiny_gpt2, tiny_llama, T):
    for decoder in (tiny_gpt2, tiny_llama):
        ids = [(37 * i + 11) % 50257 for i in range(T)]
        assert zeros(leak.influence(decoder, ids).triu(1))


def test_more_tokens_than_influence_takes_get_one_sentence(smollm2):
    with pytest.raises(UserError, match=r"65 tokens.*at most 64"):
        leak.influence(smollm2, list(range(65)))


def test_leaked_mass_is_zero_where_the_mask_is_on(small):
    ids = ids_of(small)
    assert zeros(leak.leaked_mass(small, ids, CAUSAL))
    mass = leak.leaked_mass(small, ids, MaskRule("none", frozenset({1})))
    assert zeros(mass[0])
    assert zeros(mass[2:])
    assert ((mass[1] > 0) & (mass[1] < 1)).all()


def test_leaked_mass_equals_the_upper_triangle_of_the_captured_weights(tiny_gpt2):
    ids = ids_of(tiny_gpt2)
    rule = MaskRule("wrong_way")
    weights = tiny_gpt2.run(ids, rule=rule, capture=[2]).attention[2].weights
    for head in range(4):
        by_hand = sum(float(weights[head, i, j]) for i in range(12) for j in range(i + 1, 12)) / 12
        assert abs(float(leak.leaked_mass(tiny_gpt2, ids, rule)[2, head]) - by_hand) <= 1e-6


def test_surprisal_equals_the_librarys_loss(small):
    ids = ids_of(small)
    with torch.inference_mode():
        theirs = small.model(torch.tensor([ids]), labels=torch.tensor([ids])).loss
    assert abs(float(surprisal(small.run(ids).logits[:-1], ids[1:]).mean()) - float(theirs)) <= 1e-5


@pytest.mark.parametrize("layer", [0, -1])
def test_the_three_ways_agree_and_equal_what_the_model_computes(decoder, layer):
    layer %= decoder.shape.layers
    ids = ids_of(decoder)
    run = decoder.run(ids, inputs=[layer], capture=[layer])
    given, shown = run.inputs[layer], run.attention[layer]
    made = mask_ways.outputs(given)
    assert torch.equal(made["additive"], made["boolean"])
    scale = made["additive"].abs().max()
    assert (made["additive"] - made["is_causal"]).abs().max() <= 1e-5 * scale
    groups = decoder.shape.heads // decoder.shape.kv_heads
    expected = shown.weights @ given.value.repeat_interleave(groups, dim=0)
    assert (made["additive"] - expected).abs().max() <= 1e-5 * scale


def test_what_the_flag_does_beside_a_mask_is_found_out_not_assumed(tiny_gpt2):
    from torch.nn.attention import SDPBackend, sdpa_kernel

    given = tiny_gpt2.run(ids_of(tiny_gpt2), inputs=[0]).inputs[0]
    with sdpa_kernel(SDPBackend.MATH):
        assert mask_ways.flag_and_mask(given) == "refused"
    assert mask_ways.flag_and_mask(given) in {"refused", "both"}


@pytest.mark.parametrize("direction", ["none", "wrong_way"])
def test_the_true_next_token_under_each_mask_is_the_librarys(small, direction):
    """Against the library with that mask given to it, position by position."""
    ids = ids_of(small)
    found = leak.true_next(small, ids, MaskRule(direction))
    model = copy.deepcopy(small.model)
    model.set_attn_implementation("eager")
    hidden = torch.zeros(12, 12).bool() if direction == "none" else torch.ones(12, 12).bool().tril(-1)
    masks = {"causal": torch.ones(12, 12).bool().triu(1), "changed": hidden}
    for name, hide in masks.items():
        mask = torch.zeros(1, 1, 12, 12).masked_fill(hide, -torch.inf)
        with torch.inference_mode():
            p = model(torch.tensor([ids]), attention_mask=mask, use_cache=False).logits[0].double().softmax(-1)
        expected = p[torch.arange(11), torch.tensor(ids[1:])]
        assert torch.allclose(getattr(found, name), expected, rtol=1e-3, atol=1e-9)
    assert found.rises == int((found.changed > found.causal).sum())
    assert found.rises + found.falls <= 11
    assert found.loss_changed == pytest.approx(float(-found.changed.log().mean()))
    assert found.as_json()["rises"] == found.rises


def test_each_mask_has_its_own_verdict_from_its_own_numbers():
    """Cheaper under one mask and dearer under the other, as on "The capital of France is" with nano."""
    p = torch.tensor([0.5, 0.25, 0.125], dtype=torch.float64)
    kinds = {
        "cheaper": leak.TrueNext("none", p, p * torch.tensor([1.5, 2.0, 0.9])),
        "dearer": leak.TrueNext("wrong_way", p, p * torch.tensor([0.1, 1.5, 0.1])),
        "same": leak.TrueNext("none", p, p),
    }
    for verdict, found in kinds.items():
        assert found.verdict == verdict


def test_the_true_next_token_needs_two_tokens(tiny_gpt2):
    with pytest.raises(UserError, match="2 are needed"):
        leak.true_next(tiny_gpt2, [5], MaskRule("none"))


def test_payloads_are_finite_json(tiny_llama):
    import json

    ids = ids_of(tiny_llama)
    found = leak.mask_effect(tiny_llama, ids, MaskRule("none", frozenset({2})), 11, " the")
    again = json.loads(json.dumps(as_json(found, digits=6), allow_nan=False))
    assert len(again["change"]) == 5
    assert [len(row) for row in again["change"]] == [12] * 5
    assert len(again["logit_change"]) == 12
    assert len(again["loss"]["causal"]) == len(again["loss"]["changed"]) == 11
    assert again["position"] == 11
    assert again["open_layers"] == [2]
    assert again["change"][2][:11] == [0.0] * 11
    assert min(again["change"][3][:11]) > 0
    assert again["loss"]["changed"] == as_json(
        surprisal(tiny_llama.run(ids, rule=MaskRule("none", frozenset({2}))).logits[:-1], ids[1:]), digits=6
    )
    assert again["loss"]["causal"] == as_json(surprisal(tiny_llama.run(ids).logits[:-1], ids[1:]), digits=6)
    matrix = leak.influence_of(tiny_llama, ids, CAUSAL, leak.influence_parts(tiny_llama, ids)).matrix
    assert all(matrix[i][j] == 0.0 for i in range(12) for j in range(i + 1, 12))
    ways = as_json(mask_ways.compare_ways(tiny_llama, ids, 3))
    assert ways["differences"][0]["max_delta"] == 0.0  # additive against boolean
    json.dumps(ways, allow_nan=False)


def test_a_replacement_that_already_stands_there_gives_way_to_another(tiny_gpt2):
    ids = tiny_gpt2.tokenizer.encode("I saw the")
    found = leak.mask_effect(tiny_gpt2, ids, CAUSAL, 2, " the")
    assert found.replaced.shown != found.replacement.shown
    assert found.change[0][2] > 0


def test_a_rule_is_every_layer_some_layers_or_none():
    assert leak.rule_of([], "causal", 4) == CAUSAL
    assert leak.rule_of([], "none", 4) == MaskRule("none")
    assert leak.rule_of([3, 1, 3], "wrong_way", 4) == MaskRule("wrong_way", frozenset({1, 3}))
    assert leak.opened(leak.rule_of([], "none", 4), 4) == [0, 1, 2, 3]
    assert leak.opened(CAUSAL, 4) == []


@pytest.mark.parametrize(
    ("layers", "direction", "words"),
    [
        ([3], "causal", r'open_layers is \[3\] but direction is "causal", which opens nothing'),
        ([4], "none", "open_layers holds 4; layers are whole numbers from 0 to 3"),
        ([-1], "none", "open_layers holds −1"),
        ([1.5], "none", "open_layers holds 1.5"),
        ([True], "none", "open_layers holds True"),
        (["1"], "none", 'open_layers holds "1"'),
        (3, "none", "open_layers is 3; it must be a list"),
        ([1], "sideways", 'direction is "sideways"'),
    ],
)
def test_a_rule_that_cannot_be_gets_one_sentence(layers, direction, words):
    with pytest.raises(UserError, match=words):
        leak.rule_of(layers, direction, 4)


@pytest.mark.parametrize("position", [-2, 12])
def test_a_position_outside_the_text_gets_one_sentence(position):
    with pytest.raises(UserError, match=f"position is {str(position).replace('-', '−')}; the text has 12 tokens"):
        leak.check_position(position, 12)


@pytest.mark.parametrize("text", ["", " two words", "x" * 5000])
def test_a_replacement_must_be_one_token(tiny_gpt2, text):
    with pytest.raises(UserError, match="must be exactly one token"):
        leak.one_token(tiny_gpt2, text)


def test_the_code_that_is_shown_is_the_code_that_ran(nano):
    """Each spelling, read off the page and run on its own, gives what the module gave, bit for bit."""
    given = nano.run(ids_of(nano), inputs=[1], last_only=True).inputs[1]
    shown = mask_ways.compare_ways(nano, ids_of(nano), 1).code
    made = mask_ways.outputs(given)
    space = {"torch": torch, "F": torch.nn.functional}

    def define(name: str, parameters: str) -> None:
        exec(f"def {name}({parameters}):\n{textwrap.indent(shown[name], '    ')}", space)

    define("scored", "given, key")
    for name in mask_ways.WAYS:
        define(name, "given, key, value")
        again = space[name](given, given.key.float(), given.value.float())  # nano's heads share no keys
        assert torch.equal(again, made[name]), name


def test_a_long_look_comes_in_parts_and_each_part_says_the_same(tiny_llama, monkeypatch):
    ids = ids_of(tiny_llama)
    rule = MaskRule("none", frozenset({2}))
    parts = list(leak.influence_parts(tiny_llama, ids, rule))
    assert [len(part) for part in parts] == [2] * leak.PARTS
    monkeypatch.setattr(leak, "PARTS", 1)
    (whole,) = leak.influence_parts(tiny_llama, ids, rule)
    assert torch.allclose(torch.cat(parts), whole, atol=1e-5)
    assert torch.equal(torch.cat(parts) == 0, whole == 0)
