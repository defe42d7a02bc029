"""Every mistake with files of state ends etc-run with status 2 and one line that says what to do.

  state_errors.py ETC_RUN PLAN      in a folder with `checkpoint` (whole tensors) and `shards` (a device's files each)
"""

import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys

ETC_RUN, PLAN = sys.argv[1:]
count = 0


def fails(options, message, most=None):
    """The command's only output; with `most`, no file may have more bytes."""

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    ended = subprocess.run(
        [ETC_RUN, *options.split(), PLAN], capture_output=True, text=True, preexec_fn=limit if most else None
    )
    found = (ended.returncode, ended.stderr, ended.stdout)
    assert found == (2, f"etc-run: {message}\n", ""), f"{options}\nexpected {message}\ngot {found}"
    global count
    count += 1


def broken_copy(source):
    shutil.rmtree("broken", ignore_errors=True)
    return pathlib.Path(shutil.copytree(source, "broken"))


# Directories.
fails("--in=nowhere --out=new", "nowhere: cannot read: No such file or directory")
for options in ("--in=checkpoint --out=shards", "--out=shards"):
    fails(options, "shards: is not empty; remove what is there, or name another directory")
os.mkdir("empty")
fails(
    "--in=empty --out=new",
    "empty: no checkpoint is here; expected files such as param.safetensors, or those that etc-run --out=empty writes",
)

# Files.
READ = "--in=broken --out=new"
file = broken_copy("checkpoint") / "master.safetensors"
size = file.stat().st_size
content = file.read_bytes()
data = size - 8 - int.from_bytes(content[:8], "little")
os.truncate(file, size - 1)
fails(
    READ,
    f"{file}: decoder.final_layernorm.bias: data_offsets [{data - 128}, {data}] are not 128 of the file's {data - 1} bytes",
)
file.write_text("a text, and not a list")
fails(READ, f"{file}: not a safetensors file: a list of 2318355968635969633 bytes is not in it")
file.write_bytes(b"short")
fails(READ, f"{file}: not a safetensors file: too short")
file.write_bytes((4).to_bytes(8, "little") + b"{]} ")
fails(READ, f"{file}: not a safetensors file: its list is no JSON object")
with file.open("wb") as large:
    large.write((1 << 30).to_bytes(8, "little"))
    large.truncate(1 << 31)
fails(READ, f"{file}: its list of {1 << 30} bytes is longer than 67108856; share its tensors out among more files")
file.unlink()
fails(
    READ,
    "broken: has no embedding.word_embeddings.weight (master), embedding.position_embeddings.weight (master), "
    "decoder.layers.0.input_layernorm.weight (master) and 25 more; plan with the types that are there "
    "(etc-opt --types=exp_avg,exp_avg_sq,param) and a model whose tensors have the checkpoint's names",
)
shutil.copy("checkpoint/param.safetensors", file)
fails(
    READ,
    f"{file}: embedding.word_embeddings.weight (master) is BF16 [256, 32]; expected F32 [256, 32]; plan with the model "
    "and the precision of the checkpoint",
)
file.write_bytes(content.replace(b"[256, 32]", b"[512, 16]"))
fails(
    READ,
    f"{file}: embedding.word_embeddings.weight (master) is F32 [512, 16]; expected F32 [256, 32]; plan with the model "
    "and the precision of the checkpoint",
)

# Devices' files, and their index.
index = broken_copy("shards") / "inventory.json"
text = index.read_text()
index.write_text(text[: len(text) // 2])
fails(READ, f"{index}: not an etc-inventory of version 1")
index.write_text(text.replace('"shape": [256, 32]', '"shape": [255, 32]', 1))
fails(READ, f"{index}: shards[0]: boxes[0]: 256 is not in [0, 256)")
index.write_text(text.replace('{"device": 1,', '{"device": 7,'))
fails(READ, "broken/device-7.safetensors: cannot open: No such file or directory")
index.unlink()
fails(
    READ,
    "broken: has device-0.safetensors but no inventory.json, which is written last: it is not complete; write it again, "
    "or name another directory",
)

# What does not go together.
fails("--in=checkpoint --dry-run", "--dry-run reads and writes no state; leave out --in and --out")
fails("--out=new --dry-run", "--dry-run reads and writes no state; leave out --in and --out")
fails(
    "--in=checkpoint --memory=cuda",
    "--in and --out are for state in host memory; use --transport=tcp or local with --memory=host",
)
fails(
    "--in=checkpoint --journal=journal",
    "--journal protects state that has no other copy; the files of --in survive a failure, so remove --journal",
)
fails("--in=checkpoint --from=journal", "--in and --from both give the previous state; remove one of them")
for option in ("--trace=new", "--report=new", "--ceiling"):
    fails(
        f"--in=checkpoint --out=new {option}",
        f"{option.split('=')[0]} applies to rounds, and --in with --out has none: it converts files; add "
        "--launch=N --transport=tcp to execute the plan",
    )
assert not os.path.exists("new")

# No room for all of it: the file is named, and what is there can't be taken for state.
fails(
    "--in=checkpoint --out=new",
    "new/device-0.safetensors: cannot write: File too large; make room, or name another directory",
    most=4096,
)
assert os.listdir("new") == []
fails(
    "--in=new --out=newest",
    "new: no checkpoint is here; expected files such as param.safetensors, or those that etc-run --out=new writes",
)
print(f"{count} mistakes")
