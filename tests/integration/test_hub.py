"""Models from the Hub, against a stand-in on loopback with the files of openai-community/gpt2, and its bad days."""

import shutil
import socket
import threading
from pathlib import Path

import pytest
import torch
from huggingface_hub import constants
from transformers import GPT2Config, GPT2LMHeadModel

from gptviz.decoder.decoder import Decoder
from gptviz.decoder.errors import UserError
from gptviz.decoder.sources import weights
from gptviz.decoder.sources.catalogue import MODELS
from gptviz.decoder.sources.hub import Hub
from gptviz.decoder.sources.progress import Progress, Unavailable
from gptviz.decoder.tokens import Ranks, byte_letters
from tests.hub_standin import CONFIG, HubStandin, gpt2_files, gpt2_tensors

GPT2 = "openai-community/gpt2"
WEIGHTS = "model.safetensors"


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    """The repository's files, with GPT-2's own vocabulary and the merges its ranks imply."""
    letters, ranks = byte_letters(), Ranks.gpt2().ranks

    def word(piece: bytes) -> str:
        return "".join(letters[byte] for byte in piece)

    vocabulary = {word(piece): rank for piece, rank in ranks.items()} | {"<|endoftext|>": 50256}
    merges = []
    for piece, rank in sorted(ranks.items(), key=lambda item: item[1]):
        parts = [bytes([byte]) for byte in piece]
        while len(parts) > 2:  # merge as the encoder would with the ranks below this one
            _, i = min((ranks.get(parts[i] + parts[i + 1], rank), i) for i in range(len(parts) - 1))
            parts[i : i + 2] = [parts[i] + parts[i + 1]]
        if len(parts) == 2:
            merges.append((word(parts[0]), word(parts[1])))
    return gpt2_files(vocabulary, merges)


@pytest.fixture
def hub(files, tmp_path, monkeypatch):
    """A Hub that has gpt2, and empty caches."""
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("GPTVIZ_CACHE", str(tmp_path / "own"))
    with HubStandin({GPT2: dict(files)}) as standin:
        monkeypatch.setenv("HF_ENDPOINT", standin.url)
        yield standin
    shutil.rmtree(tmp_path / "hub", ignore_errors=True)  # pytest keeps the folders of three runs


def leftovers(folder: Path) -> list[Path]:
    return list(folder.rglob("*.incomplete"))


def test_gpt2_comes_from_the_hub_and_then_from_its_cache(hub, files):
    steps: list[Progress] = []
    located = weights.locate("gpt2", progress=steps.append)
    assert (located.name, located.source, located.notes) == ("gpt2", "from the Hub", [])
    for path in located.folder.iterdir():
        assert path.read_bytes() == files[path.name]
    assert {path.name for path in located.folder.iterdir()} == {
        *("config.json", "generation_config.json", "merges.txt", WEIGHTS),
        *("tokenizer.json", "tokenizer_config.json", "vocab.json"),
    }
    assert set(hub.fetched()) - {""} == {path.name for path in located.folder.iterdir()}  # and nothing else
    loading = [step for step in steps if step.stage == "download"]
    done = [step.done_bytes for step in loading]
    assert done == sorted(done)
    assert done[-1] == loading[-1].total_bytes == sum(len(path.read_bytes()) for path in located.folder.iterdir())

    hub.faults.silent, asked = True, len(hub.requests)
    again = weights.locate(GPT2)
    assert (again.name, again.source, again.folder) == ("gpt2", "from the Hub cache", located.folder)
    assert weights.locate("gpt2", offline=True).source == "from the Hub cache"
    assert len(hub.requests) == asked


def test_the_loaded_model_equals_the_library_on_the_same_tensors(hub):
    located = weights.locate_default()
    assert (located.name, located.source) == ("gpt2", "from the Hub")
    decoder = Decoder.load(located.folder, name=located.name, source=located.source)
    library = GPT2LMHeadModel(GPT2Config.from_dict(CONFIG)).eval()
    tensors = {f"transformer.{key}": value for key, value in gpt2_tensors().items()}
    missing = library.load_state_dict(tensors, strict=False).missing_keys
    assert missing == ["lm_head.weight"]  # tied to the embedding
    ids = decoder.tokenizer.encode("The dog was in a field near a river.")
    assert ids[:2] == [464, 3290]
    with torch.inference_mode():
        expected = library(torch.tensor([ids])).logits[0]
    assert expected.std() > 0.1
    assert (decoder.run(ids).logits - expected).abs().max() == 0.0


def test_a_transfer_that_breaks_is_resumed_where_it_broke(hub, files, monkeypatch):
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 100_000)  # what is lost at a break is less than one chunk
    hub.faults.cut[WEIGHTS] = (1, 1_000_000)
    located = weights.locate("gpt2")
    assert (located.folder / WEIGHTS).read_bytes() == files[WEIGHTS]
    ranges = [wanted for method, path, wanted in hub.requests if method == "GET" and path.endswith(WEIGHTS)]
    begin = int(ranges[1].removeprefix("bytes=").rstrip("-"))
    assert ranges[0] is None
    assert begin == 1_000_000


def test_a_transfer_that_never_moves_is_given_up_and_discarded(hub, tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda seconds: None)
    hub.faults.cut[WEIGHTS] = (1000, 0)
    with pytest.raises(UserError, match="gpt2 could not be fetched from the Hub: peer closed connection"):
        weights.locate("gpt2")
    assert leftovers(tmp_path) == []
    hub.faults.cut.clear()
    assert weights.locate("gpt2").source == "from the Hub"


def test_content_that_arrives_damaged_is_fetched_again(hub, files):
    hub.faults.corrupt = {WEIGHTS: 1, "vocab.json": 1}
    located = weights.locate("gpt2")
    assert (located.folder / WEIGHTS).read_bytes() == files[WEIGHTS]
    assert (located.folder / "vocab.json").read_bytes() == files["vocab.json"]
    assert hub.fetched()[WEIGHTS] == hub.fetched()["vocab.json"] == 2


def test_content_that_stays_damaged_is_discarded(hub, tmp_path):
    hub.faults.corrupt[WEIGHTS] = 1000
    with pytest.raises(UserError, match=r"model.safetensors of openai-community/gpt2 arrived damaged twice"):
        weights.locate("gpt2")
    assert not any(path.stat().st_size > 9_000_000 for path in tmp_path.rglob("*") if path.is_file())
    assert Hub().cached(MODELS["gpt2"]) is None
    hub.faults.corrupt.clear()
    assert weights.locate("gpt2").source == "from the Hub"


@pytest.mark.parametrize("damage", ["cut short", "no header", "config"])
def test_a_damaged_cache_is_noted_and_fetched_anew(hub, files, damage):
    folder = weights.locate("gpt2").folder
    if damage == "config":
        (folder / "config.json").resolve().write_text("{")
    else:
        data = files[WEIGHTS][: 5_000_000 if damage == "cut short" else 4]
        (folder / WEIGHTS).resolve().write_bytes(data)
    with pytest.raises(UserError) as error:
        weights.locate("gpt2", offline=True)
    assert "offline" in str(error.value)
    found = weights.locate("gpt2")
    assert found.source == "from the Hub"
    assert len(found.notes) == 1
    assert (found.folder / WEIGHTS).read_bytes() == files[WEIGHTS]
    assert (found.folder / "config.json").read_bytes() == files["config.json"]


def test_a_snapshot_that_was_never_fetched_whole_is_completed(hub, files):
    llama = {**files, "config.json": files["config.json"].replace(b'"gpt2"', b'"llama"')}
    hub.repositories["owner/llama"] = llama
    folder = weights.locate("owner/llama").folder
    for name in ("tokenizer.json", "vocab.json"):  # as after loading only the model, not its tokenizer
        (folder / name).unlink()
    with pytest.raises(UserError, match="owner/llama is not on this machine, and offline nothing is fetched"):
        weights.locate("owner/llama", offline=True)
    found = weights.locate("owner/llama")
    assert (found.source, found.notes) == ("from the Hub", [])
    assert (found.folder / "tokenizer.json").read_bytes() == files["tokenizer.json"]
    assert hub.fetched()[WEIGHTS] == 1


def test_a_cache_that_may_not_be_read(hub, monkeypatch):
    def refuse(*args: object, **kwargs: object) -> None:
        raise PermissionError(13, "Permission denied", "/hub/refs")

    monkeypatch.setattr("gptviz.decoder.sources.hub.try_to_load_from_cache", refuse)
    with pytest.raises(UserError, match=r"The Hub cache .* cannot be read: /hub/refs may not be"):
        weights.locate("gpt2", offline=True)


def test_a_silent_hub_is_asked_once(hub):
    hub.faults.silent = True
    standin = Hub()
    for name in ("gpt2", "gpt2-medium"):
        with pytest.raises(Unavailable, match="does not answer within 2 s"):
            standin.fetch(MODELS[name], lambda step: None)
    assert [method for method, _, _ in hub.requests] == ["HEAD"]


def test_a_name_server_that_hangs_is_not_waited_for(hub, monkeypatch):
    answered, given_up = [], threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: answered.append(given_up.wait(20)) or [])
    with pytest.raises(UserError, match="does not answer within 2 s"):
        weights.locate("gpt2-medium")
    assert answered == []  # the name server is silent still
    given_up.set()


@pytest.mark.parametrize("endpoint", ["http://127.0.0.1:1", "not a url", "ftp://127.0.0.1", "http://[::bad"])
def test_an_endpoint_that_is_none(hub, monkeypatch, endpoint):
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    with pytest.raises(UserError, match="does not answer"):
        weights.locate("gpt2")


def test_a_hub_that_answers_nonsense(hub, monkeypatch):
    hub.repositories.clear()
    monkeypatch.setattr("tests.hub_standin.json.dumps", lambda *args: "<html>Sign in to this network</html>")
    hub.repositories[GPT2] = {}
    with pytest.raises(UserError, match="gpt2 could not be fetched from the Hub"):
        weights.locate("gpt2")


def test_what_the_hub_does_not_have(hub, files):
    with pytest.raises(UserError, match="The Hub has no model owner/nothing"):
        weights.locate("owner/nothing")
    hub.faults.gated.add("owner/gated")
    with pytest.raises(UserError, match="behind terms"):
        weights.locate("owner/gated")
    hub.repositories["owner/pickled"] = {"config.json": files["config.json"], "pytorch_model.bin": b"x"}
    with pytest.raises(UserError, match="no safetensors on the Hub"):
        weights.locate("owner/pickled")
    hub.repositories["owner/bare"] = {WEIGHTS: files[WEIGHTS]}
    with pytest.raises(UserError, match=r"no config.json"):
        weights.locate("owner/bare")
    assert hub.fetched()["pytorch_model.bin"] == 0


def test_names_that_would_leave_the_snapshot_are_never_fetched(hub, files, tmp_path):
    hub.repositories["owner/evil"] = {**files, "../../config.json": b"{}", "x/model.safetensors": b""}
    folder = weights.locate("owner/evil").folder
    assert {path.parent for path in folder.rglob("*")} == {folder}
    assert not list(tmp_path.glob("config.json"))


def test_weights_in_several_files(hub, files, tmp_path):
    library = GPT2LMHeadModel(GPT2Config.from_dict(CONFIG))
    library.save_pretrained(tmp_path / "saved", max_shard_size="4MB")
    parts = {path.name: path.read_bytes() for path in (tmp_path / "saved").iterdir()}
    assert sum(name.endswith(".safetensors") for name in parts) > 1
    hub.repositories["owner/parts"] = parts
    located = weights.locate("owner/parts")
    assert located.name == "owner/parts"
    decoder = Decoder.load(located.folder)
    with torch.inference_mode():
        expected = library.eval()(torch.tensor([[464, 3290]])).logits[0]
    assert (decoder.run([464, 3290]).logits - expected).abs().max() == 0.0
    next(located.folder.glob("model-00001-*")).unlink()
    with pytest.raises(UserError, match="offline"):
        weights.locate("owner/parts", offline=True)


def test_a_cache_from_before_the_hub_had_organisations(hub, tmp_path):
    weights.locate("gpt2")
    shutil.move(tmp_path / "hub" / "models--openai-community--gpt2", tmp_path / "hub" / "models--gpt2")
    found = weights.locate("openai-community/gpt2", offline=True)
    assert (found.name, found.source) == ("gpt2", "from the Hub cache")


def test_a_cache_that_cannot_be_written_is_read_and_passed_over(hub, tmp_path, monkeypatch):
    shared = weights.locate("gpt2").folder
    (tmp_path / "file").write_text("a file where a folder should be")
    for path in [tmp_path / "hub", *(tmp_path / "hub").rglob("*")]:
        if not path.is_symlink():
            path.chmod(0o555 if path.is_dir() else 0o444)
    assert weights.locate("gpt2", offline=True).folder == shared
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "file" / "hub"))
    found = weights.locate("gpt2")
    assert found.source == "from the Hub"
    assert (tmp_path / "own" / "hub") in found.folder.parents
    assert weights.locate("gpt2", offline=True).folder == found.folder
    monkeypatch.setenv("GPTVIZ_CACHE", str(tmp_path / "file"))
    with pytest.raises(UserError, match="gpt2 has nowhere to go"):
        weights.locate("gpt2")
    for path in [tmp_path / "hub", *(tmp_path / "hub").rglob("*")]:
        if path.is_dir():
            path.chmod(0o755)


def test_a_full_disk_is_known_before_anything_is_fetched(hub, monkeypatch):
    usage = shutil.disk_usage("/")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=5_000_000))
    with pytest.raises(UserError, match=r"gpt2 has nowhere to go: .* has 5.00\xa0MB free where 13.1\xa0MB are needed"):
        weights.locate("gpt2")
    assert set(hub.fetched()) <= {""}


def test_the_hubs_own_switch_is_honoured(hub, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(UserError, match="HF_HUB_OFFLINE forbids"):
        weights.locate("gpt2")
    assert hub.requests == []


@pytest.mark.real_gpt2
def test_the_real_gpt2_writes_what_it_always_wrote():
    folder = Hub(offline=True).cached(MODELS["gpt2"])
    if folder is None:
        pytest.skip("GPT-2's own weights are not in the Hub cache")
    decoder = Decoder.load(folder, name="gpt2", source="from the Hub cache")
    steps = decoder.stream([464, 3290], lambda logits: int(logits.argmax()), max_new_tokens=18)
    written = [464, 3290] + [step.id for step in steps]
    expected = "464 3290 373 1043 287 257 2214 1474 262 16246 286 2688 290 2688 27262 13 198 198 464 3290"
    assert written == [int(word) for word in expected.split()]
