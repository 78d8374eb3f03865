"""Compares `dragoman serve` with CTranslate2 behind the same HTTP interface (serving_rival.py).

Clients send one sentence of Multi30k a request to LibreTranslate's /translate, over connections that stay open.
Both servers have the same weights, the same search and the same number of threads; the weights are int8 by default.
First, the answers in fp32 are compared: at most 1 in 100 may differ (ties).
The table has sentences per second of all clients together, and the median and the 95th percentile of the latency.
Its first row is `dragoman translate` on the same sentences as a file.

wrk (Debian's package) sends the requests. It shares the processors with the servers; clients in Python took 0.2 ms of
processor time per request, a quarter of a translation's.
"""
import asyncio
import json
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import time

from rivals.ctranslate2_rival import TYPES, CTranslate2
from rivals.models import WORK, Search, model_named, text_lines, write_lines
from rivals.process import DATA, DRAGOMAN, fail, measure, run

HERE = pathlib.Path(__file__).resolve().parent


class Server:
    def __init__(self, name, command, port):
        self.name, self.port = name, port
        self.log = open(WORK / f"{name}.log", "w+")
        self.process = subprocess.Popen([str(part) for part in command], stdout=self.log, stderr=self.log)
        end = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > end:
                    fail(f"{name} does not start:\n{pathlib.Path(self.log.name).read_text()[-2000:]}")
                time.sleep(0.1)

    def memory(self):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
        return 0

    def close(self):
        self.process.terminate()
        self.process.wait(30)
        self.log.close()


def body_of(line):
    return json.dumps({"q": line, "source": "de", "target": "en"})


async def ask(port, lines, found):
    """Sends the lines of one client, one after the other."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for number, line in lines:
        body = body_of(line).encode()
        writer.write(b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(field.split(b":")[1]) for field in head.split(b"\r\n") if field.lower().startswith(b"content-length"))
        answer = json.loads(await reader.readexactly(length))
        if "translatedText" not in answer:
            fail(f"line {number}: {answer}")
        found[number] = answer["translatedText"]
    writer.close()


def answers(server, lines, clients):
    """Returns the translations that this number of clients receives."""
    found = [""] * len(lines)
    shares = [list(enumerate(lines))[i::clients] for i in range(clients)]

    async def all_of_them():
        await asyncio.gather(*(ask(server.port, share, found) for share in shares if share))

    asyncio.run(all_of_them())
    return found


def load(server, bodies, clients, seconds):
    """Returns requests per second of this number of clients, and the median and 95th percentile of milliseconds."""
    command = ["wrk", "--threads", "1", "--connections", str(clients), "--duration", f"{seconds}s", "--timeout", "60s",
               "--script", str(HERE / "serving_load.lua"), f"http://127.0.0.1:{server.port}/translate", "--", str(bodies)]
    done = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
    if done["failed"]:
        fail(f"{server.name}: {done['failed']} of {done['requests']} requests failed")
    return done["requests"] / done["seconds"], done["median"], done["most"]


def check(servers, lines):
    found = [answers(server, lines, 8) for server in servers]
    for server in servers:
        server.close()
    differing = sum(a != b for a, b in zip(*found))
    print(f"{differing} of {len(lines)} answers differ in fp32", flush=True)
    if differing > len(lines) / 100:
        fail("the servers do not compute the same")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def compare(arguments):
    if not shutil.which("wrk"):
        fail("there is no wrk; install Debian's package")
    WORK.mkdir(parents=True, exist_ok=True)
    model, search, compute = model_named(arguments.model, None), Search.named(arguments.search), arguments.compute
    texts = text_lines(DATA / "multi30k/test_2016_flickr.de.gz")
    lines = [texts[i % len(texts)] for i in range(arguments.lines)]
    rival = CTranslate2(arguments.version, python=arguments.python)
    pieces = WORK / "serving.model"
    pieces.unlink(missing_ok=True)
    run([DRAGOMAN, "convert", "--quiet", model.folder / "tokenizer.json", "--output", pieces])
    settings = [(arguments.threads, 1), (1, arguments.threads)]

    def options(compute):
        return ["--compute", compute, "--threads", arguments.threads, *search.options()]

    def ours(compute=compute):
        port = free_port()
        return Server("dragoman", [DRAGOMAN, "serve", "--model", f"de-en={model.folder}", "--port", port, *options(compute)], port)

    def theirs(setting, compute=compute):
        port = free_port()
        return Server(f"ctranslate2-{setting[0]}x{setting[1]}", [rival.python, HERE / "serving_rival.py", port, rival.converted(model, compute), pieces,
                                                                 *setting, TYPES[compute], search.beam_size], port)

    check([ours("fp32"), theirs(settings[0], "fp32")], lines[:300])
    file, bodies = WORK / "serving.de", WORK / "serving.bodies"
    write_lines(file, lines)
    write_lines(bodies, map(body_of, lines))
    rows = {}
    for turn in range(arguments.runs):
        wall = measure([DRAGOMAN, "translate", "--quiet", "--model", model.folder, "--input", file, "--output", WORK / "serving.en", "--overwrite", *options(compute)])[0]
        rows.setdefault(("translate", 0), []).append((len(lines) / wall, 0, 0, 0))
        for make in [ours, *(lambda setting=setting: theirs(setting) for setting in settings)]:
            server = make()
            load(server, bodies, 8, 2)  # warm
            for clients in arguments.clients:
                rows.setdefault((server.name, clients), []).append((*load(server, bodies, clients, arguments.seconds), server.memory()))
            server.close()
    print(f"{'server':18} {'clients':>7} {'sentences/s':>12} {'median ms':>10} {'95 % ms':>9} {'memory MB':>10}")
    medians = {key: [statistics.median(column) for column in zip(*figures)] for key, figures in rows.items()}
    for (name, clients), (rate, median, most, memory) in medians.items():
        print(f"{name:18} {clients:7} {rate:12.1f} {median:10.1f} {most:9.1f} {memory:10.0f}")
    file_rate = medians["translate", 0][0]
    for clients in arguments.clients:
        best = max((medians[name, one][0], name) for name, one in medians if one == clients and name.startswith("ctranslate2"))
        mine = medians["dragoman", clients][0]
        print(f"ratio {best[1]} serve/{clients} {mine / best[0]:.2f}   (of `translate` on the file: {mine / file_rate:.2f})")


def add_command(commands):
    parser = commands.add_parser("serve", help="translations over HTTP, against CTranslate2 behind the same interface", description=__doc__)
    parser.add_argument("--model", default="bundled", metavar="MODEL", help="bundled, or a model folder")
    parser.add_argument("--search", default="beam4", metavar="NAME", help="greedy, beam4, ...")
    parser.add_argument("--compute", default="int8", choices=sorted(TYPES))
    parser.add_argument("--threads", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("--clients", nargs="+", type=int, default=[1, 8, 64], metavar="N")
    parser.add_argument("--lines", type=int, default=4000, metavar="N")
    parser.add_argument("--seconds", type=int, default=10, metavar="N", help="duration of each measurement")
    parser.add_argument("--runs", type=int, default=3, metavar="N")
    parser.add_argument("--version", default="4.8.5", metavar="X.Y.Z", help="of CTranslate2")
    parser.add_argument("--python", metavar="FILE", help="a Python that has ctranslate2, sentencepiece, fastapi and uvicorn")
    parser.set_defaults(compare=compare)
