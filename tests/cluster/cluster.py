"""A standalone cluster of Spark on this machine, and what its driver reports about stages and tasks."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path


class Cluster:
    """The processes of a standalone cluster. The package on PyPI has no scripts that start it."""

    def __init__(self, folder, workers=2):
        import pyspark

        self.folder = folder
        self.spark = Path(pyspark.__file__).parent
        self.environment = {**os.environ, "SPARK_HOME": str(self.spark), "PYSPARK_PYTHON": sys.executable}
        # A busy machine is slow to send heartbeats. The end of a process is noticed at once by its connections.
        self.environment["SPARK_MASTER_OPTS"] = "-Dspark.worker.timeout=600"
        self.running = []
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
        self.address = f"spark://127.0.0.1:{port}"
        master = self._start("master", "Master", "--port", str(port))
        while socket.socket().connect_ex(("127.0.0.1", port)) != 0:
            assert master.poll() is None, f"the master did not start; see {folder}/master.log"
            time.sleep(0.2)
        # Each worker has a host of its own, since Spark starts no second attempt of a task on the host of the first.
        self.workers = [self.start_worker(f"worker-{number}", f"127.0.0.{number + 1}") for number in range(workers)]

    def start_worker(self, name, host="127.0.0.1"):
        words = ["--cores", "1", "--memory", "1g", "-d", str(self.folder / name), self.address]
        return self._start(name, "Worker", *words, host=host)

    def _start(self, name, kind, *arguments, host="127.0.0.1"):
        command = [self.spark / "bin/spark-class", f"org.apache.spark.deploy.{kind.lower()}.{kind}"]
        command += ["--host", host, "--webui-port", "0", *arguments]
        with open(self.folder / f"{name}.log", "ab") as log:
            # Each has a group of its own, so that a killed worker takes its executors with it.
            started = subprocess.Popen(command, env=self.environment, stdout=log, stderr=log, start_new_session=True)
        self.running.append(started)
        return started

    def kill(self, process):
        for child in descendants(process.pid):
            os.kill(child, signal.SIGKILL)
        process.kill()
        process.wait()
        self.running.remove(process)

    def stop(self):
        for process in list(self.running):
            self.kill(process)


def descendants(parent):
    found = []
    for task in Path(f"/proc/{parent}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            found += [child, *descendants(child)]
    return found


def start_session(address, **settings):
    """A session whose executors have one core and import this package. Its interface answers on a free port."""
    from pyspark.sql import SparkSession

    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    settings = {
        "spark.ui.port": "0",
        "spark.network.timeout": "600s",
        "spark.ui.showConsoleProgress": "false",
        "spark.executor.cores": "1",
        "spark.executor.memory": "512m",
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path)),  # executors run elsewhere
        **settings,
    }
    builder = SparkSession.builder.master(address).appName("dragoman")
    for name, value in settings.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    return made


def report(session, path):
    """What Spark's REST interface says of the application: stages, or the tasks of one."""
    context = session.sparkContext
    url = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/{path}"
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=60) as answer:
        return json.load(answer)
