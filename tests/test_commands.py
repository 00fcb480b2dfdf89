"""Launch lines as documents of flags."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsdplint.commands import PATH, Command, read_command, split


def flags(line: str) -> dict[str, object]:
    command = read_command(line)
    assert command is not None
    value = command.document.value(())
    assert isinstance(value, dict)
    return value


def spans(line: str, flag: str) -> tuple[str, str]:
    """The very characters of a flag and of its value."""
    command = read_command(line)
    assert command is not None
    key, value = command.document.key_span((flag,)), command.document.value_span((flag,))
    assert key is not None and value is not None
    return line[slice(*key)], line[slice(*value)]


def mentions(line: str) -> list[tuple[str, str]]:
    """The config files that a line mentions, and the characters where."""
    command = read_command(line)
    assert command is not None
    return [(name, line[slice(*place.part)]) for place, name in command.mentions if isinstance(place.part, tuple)]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("accelerate launch train.py", "accelerate"),
        ("accelerate-launch train.py", "accelerate"),
        ("python -m accelerate.commands.launch train.py", "accelerate"),
        ("/opt/venv/bin/accelerate launch train.py", "accelerate"),
        ("C:/venv/Scripts/accelerate.exe launch train.py", "accelerate"),
        ("CUDA_VISIBLE_DEVICES=0,1 nohup accelerate launch train.py", "accelerate"),
        ("srun --ntasks 2 accelerate launch train.py", "accelerate"),
        ("cd runs && accelerate launch train.py", "accelerate"),
        ("soup train --config soup.yaml", "soup"),
        ("python -m soup_cli train --config soup.yaml", "soup"),
        ("accelerate launch -m soup_cli train --config soup.yaml", "soup"),
        ("trl sft --config sft.yaml", "trl"),
        ("torchrun --nproc_per_node 2 train.py", "launch"),
        ("python train.py", "launch"),
        ("swift sft a.yaml", "launch"),
        ("accelerate config", "launch"),
        ("soup init", "launch"),
    ],
)
def test_launcher(line: str, name: str) -> None:
    command = read_command(line)
    assert isinstance(command, Command)
    assert command.dialect.name == name
    assert (command.document.path, command.document.text) == (PATH, line)


@pytest.mark.parametrize("line", ["", "   ", "\n"])
def test_blank(line: str) -> None:
    assert read_command(line) is None


def test_flags_with_values_and_switches() -> None:
    line = "accelerate launch --config_file a.yaml --mixed_precision=bf16 --use_fsdp --num_processes 2 train.py --use_deepspeed b.yaml"
    assert flags(line) == {"--config_file": "a.yaml", "--mixed_precision": "bf16", "--use_fsdp": True, "--num_processes": "2"}
    assert spans(line, "--num_processes") == ("--num_processes", "2")
    assert spans(line, "--mixed_precision") == ("--mixed_precision", "bf16")
    assert spans(line, "--use_fsdp") == ("--use_fsdp", "")


def test_the_script_ends_the_launcher_s_flags() -> None:
    assert flags("accelerate launch train.py --num_processes 2") == {}
    assert flags("accelerate launch -m pkg.train --num_processes 2") == {"-m": True}
    assert flags("accelerate launch -- --num_processes 2") == {}


def test_a_value_is_missing_at_the_end() -> None:
    assert flags("soup train --fsdp") == {"--fsdp": None}
    assert flags("soup train --fsdp --deepspeed zero3") == {"--fsdp": None, "--deepspeed": "zero3"}


def test_unknown_flags_are_kept() -> None:
    assert flags("soup train --fspd full_shard --config a.yaml") == {"--fspd": "full_shard", "--config": "a.yaml"}


def test_quotes_are_inside_the_place() -> None:
    line = """soup train --fsdp 'full_shard' --config="my soup.yaml" """
    assert flags(line) == {"--fsdp": "full_shard", "--config": "my soup.yaml"}
    assert spans(line, "--fsdp") == ("--fsdp", "'full_shard'")
    assert spans(line, "--config") == ("--config", '"my soup.yaml"')


def test_the_last_of_two_counts() -> None:
    assert flags("soup train --fsdp full_shard --fsdp shard_grad") == {"--fsdp": "shard_grad"}


def test_lines_go_on_after_a_backslash() -> None:
    line = "accelerate launch \\\n  --num_processes 2 \\\n  train.py"
    assert flags(line) == {"--num_processes": "2"}
    assert spans(line, "--num_processes") == ("--num_processes", "2")


def test_negative_numbers_are_values() -> None:
    assert flags("accelerate launch --num_processes -1 train.py") == {"--num_processes": "-1"}


def test_redirections_end_the_command() -> None:
    assert mentions("python train.py a.yaml > out.json 2>&1") == [("a.yaml", "a.yaml")]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("accelerate launch --config_file a.yaml train.py b.yaml", [("a.yaml", "a.yaml"), ("b.yaml", "b.yaml")]),
        ("accelerate launch --config_file=cfg/a.yaml train.py --config=b.yml", [("cfg/a.yaml", "cfg/a.yaml"), ("b.yml", "b.yml")]),
        ("trl sft --config x.yaml --accelerate_config fsdp2", [("x.yaml", "x.yaml")]),
        ("deepspeed train.py --deepspeed ds.json", [("ds.json", "ds.json")]),
        ("torchrun train.py job.config_file=t.toml", [("t.toml", "t.toml")]),
        ("soup train -c 'my soup.yaml'", [("my soup.yaml", "'my soup.yaml'")]),
        ("swift sft X.YAML", [("X.YAML", "X.YAML")]),
        ("python train.py", []),
    ],
)
def test_mentions(line: str, found: list[tuple[str, str]]) -> None:
    assert mentions(line) == found


def test_an_open_quote_reaches_to_the_end() -> None:
    assert [word.text for word in split("soup train 'a b")] == ["soup", "train", "a b"]


WORDS = st.text(alphabet=st.sampled_from("ab-_=./ \t\"'\\$"), max_size=30)


@given(WORDS)
def test_words_are_those_of_shlex(text: str) -> None:
    try:
        expected = shlex.split(text)
    except ValueError:
        return
    assert [word.text for word in split(text)] == expected


@given(WORDS)
def test_places_cover_the_words(text: str) -> None:
    end = 0
    for word in split(text):
        assert end <= word.span.start < word.span.end <= len(text)
        assert text[end : word.span.start].strip(" \t") == ""
        end = word.span.end
    assert text[end:].strip(" \t") == ""


def test_a_separator_at_the_end_ends_the_command() -> None:
    command = read_command("cd x && accelerate launch train.py ;")
    assert command is not None and command.dialect.name == "accelerate"


@given(st.text(max_size=60))
def test_any_text_is_read(text: str) -> None:
    command = read_command("accelerate launch " + text)
    assert command is not None and command.dialect.name in ("accelerate", "soup", "trl", "launch")
