"""Comparisons on a GPU: whether there is one for both programs, and what it can do at most."""
import json
import os
import pathlib
import subprocess

from rivals.process import DRAGOMAN, RIVALS, fail

CACHE = RIVALS / "cache"


def lines_of(command):
    finished = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    return finished.returncode, (finished.stdout + finished.stderr).splitlines()


def our_gpu():
    """What `dragoman doctor` says of CUDA; ends the run where Dragoman has no GPU."""
    _, lines = lines_of([DRAGOMAN, "doctor"])
    about = [line for line in lines if line.startswith("cuda ")]
    if not any("sm_" in line for line in about):
        fail("--device cuda: Dragoman finds no GPU: " + ("; ".join(" ".join(line.split()) for line in about) or "it has no plugin `cuda`"))
    return about[0]


def our_types(wanted):
    """Of the wanted number types those that Dragoman has on the GPU."""
    types = our_gpu().split("--compute ")[-1].replace(",", " ").split()
    return [name for name in wanted if name in types]


def with_products_chosen(first_run):
    """The result of a run that is not timed. Dragoman measures the algorithms of its products when it first meets them, and keeps its
    choices in a file, which the timed runs read. The file is in a folder of the comparisons, since a user's may not be writable."""
    os.environ["XDG_CACHE_HOME"] = str(CACHE)
    result = first_run()
    if not any((CACHE / "dragoman").glob("products-*.txt")):
        print("note: no choices of products were kept, so each timed run measures them again; `dragoman doctor` says why", flush=True)
    return result


def require_torch_gpu(python):
    status, lines = lines_of([python, "-c", "import torch; assert torch.cuda.is_available(); print(torch.version.cuda, torch.cuda.get_device_name())"])
    if status != 0:
        fail("--device cuda: PyTorch finds no GPU: " + (lines[-1] if lines else "it does not start"))
    return f"PyTorch for CUDA {lines[-1]}"


def driver():
    status, lines = lines_of(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"])
    return lines[0] if status == 0 and lines else "driver unknown"


def ceilings(python):
    """Measured with PyTorch: FLOP/s of a large product of bf16, bytes/s of a copy within the device."""
    script = pathlib.Path(__file__).resolve().parent / "gpu_ceilings.py"
    status, lines = lines_of([python, script])
    if status != 0:
        fail("the GPU's ceilings cannot be measured:\n" + "\n".join(lines[-5:]))
    return json.loads(lines[-1])


def training_flops(shape, source_tokens, target_tokens):
    """Of forward and backward pass: 6 for each weight and token that it is multiplied with (2 forward, 4 backward), embeddings not counted;
    attention's own products, which are few at these lengths, neither."""
    width, inner, layers = shape["d_model"], shape["feed_forward"], (shape["encoder_layers"], shape["decoder_layers"])
    encoder = layers[0] * (4 * width * width + 2 * width * inner)
    decoder = layers[1] * (6 * width * width + 2 * width * inner) + width * shape["vocabulary"]
    memories = layers[1] * 2 * width * width  # keys and values of the source, for the decoder's layers
    return 6 * ((encoder + memories) * source_tokens + decoder * target_tokens)
