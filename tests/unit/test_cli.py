"""Flags, variables and the address: every mistake of the caller is one sentence, found before anything heavy."""

from __future__ import annotations

import errno
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gptviz import cli, flags
from gptviz.decoder.errors import UserError
from gptviz.decoder.sources.catalogue import MODELS

ROOT = Path(__file__).parents[2]


@pytest.fixture
def taken() -> Iterator[int]:
    """A port of the loopback address that another program listens on."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


def refused(capsys: pytest.CaptureFixture[str], *arguments: str, **variables: str) -> str:
    """The sentence with which these end the start."""
    with pytest.raises(SystemExit) as end:
        flags.read(arguments, variables)
    said = capsys.readouterr()
    assert end.value.code == 2
    assert said.out == ""
    assert said.err.count("\n") == 1
    return said.err.strip()


def test_without_flags_and_variables_the_defaults_hold() -> None:
    chosen = flags.read([], {})
    assert (chosen.model, chosen.device, chosen.dtype) == ("", "auto", "float32")
    assert (chosen.host, chosen.port, chosen.root_path) == ("127.0.0.1", 7860, "")
    assert (chosen.offline, chosen.share) == (False, False)


def test_a_flag_wins_over_its_variable_and_an_empty_variable_is_none() -> None:
    variables = {"GPTVIZ_PORT": "8000", "GPTVIZ_DTYPE": "bfloat16", "GPTVIZ_DEVICE": "", "GPTVIZ_OFFLINE": "Yes"}
    chosen = flags.read(["--port", "9000"], variables)
    assert (chosen.port, chosen.dtype, chosen.device, chosen.offline) == (9000, "bfloat16", "auto", True)
    assert flags.read(["--offline"], {"GPTVIZ_OFFLINE": "0"}).offline is True


def test_every_flag_has_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flags, "check_mcp", lambda: None)  # the extra need not be installed
    values = {
        "model": "nano",
        "device": "cpu",
        "dtype": "float16",
        "host": "0.0.0.0",
        "port": "1",
        "root-path": "/a/b",
        "offline": "on",
        "share": "1",
        "mcp": "yes",
        "hosts": "viz.example.org,.school.org",
        "proxied": "1",
        "per-client": "9",
        "per-minute": "0",
        "body-mb": "2",
        "cache-mb": "64",
        "max-models": "1",
        "metrics": "on",
        "access-log": "1",
    }
    assert [flag.name for flag in flags.FLAGS] == list(values)
    by_variable = flags.read([], {flag.variable: values[flag.name] for flag in flags.FLAGS})
    switches = ("offline", "share", "mcp", "proxied", "metrics", "access-log")
    given = [part for name, value in values.items() for part in ([f"--{name}"] + [value] * (name not in switches))]
    assert by_variable == flags.read(given, {})


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--port", "abc"], ["--port", '"abc"', "1 to 65535"]),
        (["--port", "99999"], ["--port", '"99999"', "1 to 65535"]),
        (["--port", "0"], ['"0"', "1 to 65535"]),
        (["--port", "-1"], ["--port"]),
        (["--port", "٣"], ['"٣"', "1 to 65535"]),
        (["--port=8000 "], ["1 to 65535"]),
        (["--port"], ["--port", "argument"]),
        (["--host", "http://here"], ["--host", "http://here", "0.0.0.0"]),
        (["--host", "a b"], ["--host", "a b"]),
        (["--device", "gpu"], ["--device", '"gpu"', "cuda:1"]),
        (["--device", "cuda:x"], ["--device", "cuda:x"]),
        (["--dtype", "int8"], ["--dtype", '"int8"', "bfloat16"]),
        (["--root-path", "gptviz"], ["--root-path", "/gptviz"]),
        (["--root-path", "/a b"], ["--root-path", '"/a b"']),
        (["--root-path", "/a/../b"], ["--root-path"]),
        (["--root-path", "//evil.example"], ["--root-path"]),
        (["--hosts", "a b"], ["--hosts", '"a b"', "viz.example.org"]),
        (["--per-client", "0"], ["--per-client", '"0"', "1 to 100,000"]),
        (["--cache-mb", "-5"], ["--cache-mb"]),
        (["--max-models", "many"], ['"many"', "1 to 16"]),
        (["--prot", "8000"], ["--prot 8000", "--help"]),
        (["--of"], ["--of"]),
        (["here"], ["here"]),
        (["--model", "gtp2"], ["--model", '"gtp2"', "did you mean gpt2?", "owner/model"]),
        (["--model", "smollm2"], ["smollm2-135m"]),
        (["--model", "./no such folder"], ["./no such folder", "does not exist"]),
        (["--model", "a/b/c"], ['"a/b/c"', *MODELS]),
        (["--model", "ü"], ['"ü"']),
        (["--model", "one\ntwo"], [r"one\ntwo"]),
    ],
)
def test_a_flag_that_cannot_be_is_one_sentence(
    arguments: list[str], parts: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", "/nowhere")
    sentence = refused(capsys, *arguments)
    assert sentence.endswith(".")
    for part in parts:
        assert part in sentence


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("GPTVIZ_PORT", "http"),
        ("GPTVIZ_HOST", "*"),
        ("GPTVIZ_DEVICE", "tpu"),
        ("GPTVIZ_DTYPE", "fp32"),
        ("GPTVIZ_ROOT_PATH", "x"),
        ("GPTVIZ_OFFLINE", "perhaps"),
        ("GPTVIZ_SHARE", "2"),
        ("GPTVIZ_CACHE", str(Path(__file__))),
        ("GPTVIZ_CACHE", str(Path(__file__) / "below")),
    ],
)
def test_a_variable_that_cannot_be_is_named(variable: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    sentence = refused(capsys, **{variable: value})
    assert sentence.startswith(f"{variable} is ")
    assert sentence.endswith(".")


def test_an_old_id_without_an_owner_is_used_where_the_cache_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    (tmp_path / "models--xglm").mkdir()
    assert flags.read(["--model", "xglm"], {}).model == "xglm"


def test_a_folder_and_a_hub_id_go_through(tmp_path: Path) -> None:
    assert flags.read(["--model", str(tmp_path)], {}).model == str(tmp_path)
    assert flags.read(["--model", "owner/model"], {}).model == "owner/model"


@pytest.mark.parametrize(("given", "path"), [("/", ""), ("/viz/", "/viz"), ("/a/b-c_d.e~f", "/a/b-c_d.e~f"), ("", "")])
def test_a_root_path_has_no_slash_at_its_end(given: str, path: str) -> None:
    assert flags.read(["--root-path", given], {}).root_path == path


def test_a_misspelt_variable_is_said() -> None:
    assert flags.unknown({"GPTVIZ_PROT": "1", "GPTVIZ_PORT": "1", "GPTVIZ_CACHE": "x", "HOME": "y"}) == [
        "The variable GPTVIZ_PROT means nothing here (did you mean GPTVIZ_PORT?)."
    ]


def test_a_port_in_use_is_said(taken: int) -> None:
    with pytest.raises(UserError, match=f"port is {taken}, which another program uses"):
        cli.check_address("127.0.0.1", taken)
    with pytest.raises(UserError, match=f"port is {taken}, which another program uses"):
        cli.check_address("0.0.0.0", taken)


def test_a_free_port_stays_free() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        port = other.getsockname()[1]
    for host in ("127.0.0.1", "localhost", "0.0.0.0", "127.0.0.1"):
        cli.check_address(host, port)


@pytest.mark.parametrize("host", ["nowhere.invalid", "192.0.2.1", "a..b"])
def test_an_address_of_another_machine_is_refused(host: str) -> None:
    with pytest.raises(UserError, match=f'host is "{host}"'):
        cli.check_address(host, 7860)


def test_a_port_for_the_administrator_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbid(family: int, address: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(cli, "_bind", forbid)
    with pytest.raises(UserError, match="port is 80, which this user may not listen on"):
        cli.check_address("127.0.0.1", 80)


def test_mistakes_are_found_without_loading_torch_or_gradio(taken: int) -> None:
    code = (
        "import sys\nfrom gptviz.cli import main\n"
        "try:\n    main()\n"
        "finally:\n    print(sorted({'torch', 'gradio', 'transformers', 'numpy'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "--port", str(taken)], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 2
    assert done.stdout == "[]\n"
    assert done.stderr == f"port is {taken}, which another program uses; end that one, or name another port.\n"


def test_help_names_every_flag_and_variable(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        flags.read(["--help"], {"GPTVIZ_MODEL": "100%s"})
    said = capsys.readouterr().out
    assert end.value.code == 0
    for flag in flags.FLAGS:
        assert f"--{flag.name}" in said
        assert flag.variable in said
    assert "100%s" in said


def test_what_is_not_installed_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ModuleNotFoundError('no', name='torch')", encoding="utf-8")
    code = f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(ROOT)!r}]; from gptviz.cli import main; main()"
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        port = str(other.getsockname()[1])
    done = subprocess.run(
        [sys.executable, "-c", code, "--port", port], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 2
    assert done.stderr.startswith("torch is not installed for ")
    assert done.stderr.count("\n") == 1
