"""What CTranslate2 does with files of token numbers; runs in the Python that has its wheel. The task is a JSON object:

  ctranslate2_translate.py '{"model": DIR, "source": FILE, "compute": TYPE, "workers": N, "threads": N, ...}'

With `batches`, a list of [size, "examples" or "tokens"], it translates with each, again and again until that took so many `seconds`, and
prints an object with the figures of the fastest translate_batch alone, the model being loaded and warm; `output` takes the hypotheses
of the last, `scores` their scores. With `target` it prints a log probability for each pair instead. `types` in place of all others: the
computation types that it has here.
"""
import json
import sys
import time

import ctranslate2


def read_tokens(path):
    with open(path) as file:
        return [line.split() for line in file]


def peak_mb():
    """Of this program alone, which getrusage() would not give: that begins with what the parent had."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM:"))


def search_of(task):
    options = {"beam_size": task["beam_size"], "max_input_length": task["longest_source"], "max_decoding_length": task["longest"],
               "return_scores": "scores" in task}
    if task.get("shortest"):
        options["min_decoding_length"] = task["shortest"]
    return options


def timed(translator, source, size, kind, options):
    wall, cpu = time.perf_counter(), time.process_time()
    results = translator.translate_batch(source, max_batch_size=size, batch_type=kind, **options)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    tokens = sum(len(result.hypotheses[0]) for result in results)
    return results, {"batch": [size, kind], "wall": wall, "cpu": cpu, "tokens": tokens, "memory": peak_mb()}


def translate(translator, task):
    source = read_tokens(task["source"])
    options = search_of(task)
    translator.translate_batch(source[:16], **options)
    for size, kind in task["batches"]:
        rows = []
        while not rows or sum(row["wall"] for row in rows) < task.get("seconds", 0):
            results, row = timed(translator, source, size, kind, options)
            rows.append(row)
        print(json.dumps(min(rows, key=lambda row: row["wall"])), flush=True)
    if "output" in task:
        with open(task["output"], "w") as file:
            file.writelines(" ".join(result.hypotheses[0]) + "\n" for result in results)
    if "scores" in task:
        with open(task["scores"], "w") as file:
            file.writelines(f"{result.scores[0]!r}\n" for result in results)


def score(translator, task):
    for result in translator.score_batch(read_tokens(task["source"]), read_tokens(task["target"]), max_batch_size=32):
        print(repr(sum(result.log_probs)))


def main():
    task = json.loads(sys.argv[1])
    if "types" in task:
        print(json.dumps(sorted(ctranslate2.get_supported_compute_types(task.get("device", "cpu")))))
        return
    translator = ctranslate2.Translator(task["model"], device=task.get("device", "cpu"), compute_type=task["compute"], inter_threads=task["workers"],
                                        intra_threads=task["threads"])
    if "target" in task:
        score(translator, task)
    else:
        translate(translator, task)


if __name__ == "__main__":
    main()
