"""`dragoman.spark` in local mode: the results are those of the program. tests/cluster has a real cluster."""

import importlib.util
import os
import shutil
import subprocess
import sys
import time

import pytest

import dragoman
from conftest import MODEL
from dragoman import spark as dragoman_spark

ready = importlib.util.find_spec("pyspark") and importlib.util.find_spec("pyarrow") and shutil.which("java")
needs_spark = pytest.mark.skipif(not ready, reason="needs pyspark, pyarrow and Java; scripts/test cluster has them")

# Carriage returns, tabs, spaces, bytes that are not UTF-8, an empty line.
LINES = [b"Ein Hund l\xc3\xa4uft.\r", b"", b"Ein\rHund\tl\xc3\xa4uft  im Schnee.", b"\xff Hund", b"Eine Frau spielt Gitarre."]


@pytest.fixture(scope="module")
def session():
    if not ready:
        pytest.skip("needs pyspark, pyarrow and Java")
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "3",
        "spark.sql.files.maxPartitionBytes": "20000",  # several partitions from a small file
        "spark.sql.files.openCostInBytes": "0",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "100",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    yield made
    made.stop()


@pytest.fixture(scope="module")
def corpus(tmp_path_factory, multi30k):
    """Two files, which the pattern reads in this order."""
    import gzip

    folder = tmp_path_factory.mktemp("corpus")
    with gzip.open(next(multi30k.glob("*val*.de*")), "rb") as file:
        (folder / "a.de").write_bytes(file.read())
    (folder / "b.de").write_bytes(b"\n".join(LINES) + b"\n")
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory, corpus):
    """Both in one file."""
    file = tmp_path_factory.mktemp("whole") / "whole.de"
    file.write_bytes((corpus / "a.de").read_bytes() + (corpus / "b.de").read_bytes())
    return file


@needs_spark
def test_lines_are_those_of_the_program(session, corpus):
    frame = dragoman_spark.read_lines(session, corpus / "*.de")
    read = [bytes(row[0]) for row in frame.select(frame.text.cast("binary")).collect()]
    written = [line for file in ("a.de", "b.de") for line in (corpus / file).read_bytes().split(b"\n")[:-1]]
    assert read == written
    assert frame.rdd.getNumPartitions() > 2
    backwards = dragoman_spark.read_lines(session, corpus / "b.de", corpus / "a.de", column="de")
    assert backwards.columns == ["de"] and backwards.first().de == "Ein Hund läuft.\r"


@needs_spark
def test_lines_are_written_in_order(session, corpus, tmp_path):
    frame = dragoman_spark.read_lines(session, corpus / "*.de")
    expected = (corpus / "a.de").read_bytes() + (corpus / "b.de").read_bytes()
    dragoman_spark.write_lines(frame, tmp_path / "one.txt", single_file=True)
    assert (tmp_path / "one.txt").read_bytes() == expected
    assert [path.name for path in tmp_path.iterdir()] == ["one.txt"]
    dragoman_spark.write_lines(frame, tmp_path / "many.txt")
    parts = sorted((tmp_path / "many.txt").glob("part-*"))
    assert len(parts) > 2 and b"".join(part.read_bytes() for part in parts) == expected
    with pytest.raises(FileExistsError, match="overwrite=True"):
        dragoman_spark.write_lines(frame, tmp_path / "one.txt", single_file=True)
    dragoman_spark.write_lines(frame.limit(1), tmp_path / "one.txt", single_file=True, overwrite=True)
    assert (tmp_path / "one.txt").read_bytes() == expected.split(b"\n")[0] + b"\n"


@needs_spark
def test_counts_are_those_of_the_program(session, corpus, program, tmp_path):
    program("count-words", corpus / "a.de", corpus / "b.de", "-o", tmp_path / "theirs")
    progress = dragoman_spark.Progress(session)
    counts = dragoman_spark.count_words(dragoman_spark.read_lines(session, corpus), progress=progress)
    dragoman_spark.save_counts(counts, tmp_path / "ours")
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()
    assert progress.lines >= 1014 + len(LINES) and progress.seconds > 0

    parts = [dragoman_spark.count_words(dragoman_spark.read_lines(session, corpus / name)) for name in ("a.de", "b.de")]
    dragoman_spark.save_counts(parts[0].union(parts[1]), tmp_path / "merged")
    assert (tmp_path / "merged").read_bytes() == (tmp_path / "theirs").read_bytes()

    program("learn-bpe", corpus / "a.de", corpus / "b.de", "-o", tmp_path / "theirs.json", "--vocab-size", 800)
    dragoman_spark.learn_bpe(parts[0].union(parts[1]), vocab_size=800).save(tmp_path / "ours.json")
    assert (tmp_path / "ours.json").read_bytes() == (tmp_path / "theirs.json").read_bytes()


def stage_tasks(session, job):
    """Runs a job, and returns how many tasks each of its stages has."""
    context = session.sparkContext
    group = f"job {time.monotonic_ns()}"
    context.setJobGroup(group, group)
    try:
        job()
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
    tracker = context.statusTracker()
    jobs = [tracker.getJobInfo(number) for number in sorted(tracker.getJobIdsForGroup(group))]
    stages = sorted({stage for each in jobs for stage in each.stageIds})
    return [tracker.getStageInfo(stage).numTasks for stage in stages if tracker.getStageInfo(stage)]


@needs_spark
def test_counting_joins_partitions(session, corpus):
    frame = dragoman_spark.read_lines(session, corpus)
    size = sum(file.stat().st_size for file in corpus.iterdir())
    parts = frame.rdd.getNumPartitions()
    assert parts > 4

    def counted(texts, **options):
        rows = []
        tasks = stage_tasks(session, lambda: rows.extend(dragoman_spark.count_words(texts, **options).collect()))
        return tasks[0], sorted((bytes(row.word), row["count"]) for row in rows)

    cores, expected = counted(frame)
    assert cores == session.sparkContext.defaultParallelism == 2  # 2 GB are more than the text, so one for each core
    assert counted(frame, partition_bytes=size // 3) == (4, expected)
    assert counted(frame, partition_bytes=1) == counted(frame, partition_bytes=None) == (parts, expected)
    # A cast and a column that Spark takes to be large do not change the bytes of the files.
    wider = frame.select(frame.text.cast("binary").alias("text"), frame.text.alias("more"))
    assert counted(wider, partition_bytes=size // 3) == (4, expected)
    unknown = session.sparkContext.parallelize([("a",)] * 10, 5).toDF("text string")  # Spark does not know its size
    assert counted(unknown) == (5, [(b"a", 10)])
    with pytest.raises(ValueError, match="partition_bytes is 0; it must be at least 1"):
        dragoman_spark.count_words(frame, partition_bytes=0)


@needs_spark
def test_rare_words_are_dropped_after_the_counts_are_added(session, corpus, program, tmp_path):
    parts = [dragoman_spark.count_words(dragoman_spark.read_lines(session, corpus / name)) for name in ("a.de", "b.de")]
    counts = parts[0].union(parts[1])
    program("count-words", corpus / "a.de", corpus / "b.de", "--min-count", 3, "-o", tmp_path / "theirs")
    dragoman_spark.save_counts(counts, tmp_path / "ours", min_count=3)
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()
    assert min(int(line.split(b"\t")[0]) for line in (tmp_path / "ours").read_bytes().splitlines()) == 3
    size = ("--vocab-size", 500)
    program("learn-bpe", "--counts", tmp_path / "theirs", "-o", tmp_path / "theirs.json", *size)
    dragoman_spark.learn_bpe(counts, min_count=3, vocab_size=500).save(tmp_path / "ours.json")
    assert (tmp_path / "ours.json").read_bytes() == (tmp_path / "theirs.json").read_bytes()
    program("learn-bpe", corpus / "a.de", corpus / "b.de", "--min-word-count", 3, "-o", tmp_path / "whole.json", *size)
    assert (tmp_path / "whole.json").read_bytes() == (tmp_path / "theirs.json").read_bytes()


@needs_spark
def test_counting_without_text_and_with_a_failure(session):
    texts = session.createDataFrame([(None,), ("a  b",), ("a\nb",)], "text string").repartition(5)
    rows = dragoman_spark.count_words(texts).collect()
    assert {bytes(row.word): row["count"] for row in rows} == {b"a": 2, b"b": 2}
    with pytest.raises(Exception, match="count-words ended with status"):
        dragoman_spark.count_words(texts, invalid_utf8="perhaps").collect()


@needs_spark
def test_tokens_are_those_of_the_program(session, corpus, whole, program, tokenizer, tmp_path):
    frame = dragoman_spark.read_lines(session, corpus)
    for kind, given in (("ids", tokenizer), ("pieces", MODEL / "tokenizer.json")):
        program("encode", "-t", MODEL / "tokenizer.json", "--format", kind, whole, "-o", tmp_path / kind)
        lines = (tmp_path / kind).read_bytes().decode().split("\n")[:-1]
        rows = dragoman_spark.encode(frame, given, format=kind).collect()
        assert [" ".join(map(str, row.tokens)) for row in rows] == lines
    missing = session.createDataFrame([(None,), ("",), ("Hund",)], "text string")
    tokens = [row.tokens for row in dragoman_spark.encode(missing, tokenizer).collect()]
    assert tokens == [None, [], tokenizer.encode("Hund").tolist()]
    with pytest.raises(ValueError, match="'dropout'; it must be exact or greedy"):
        dragoman_spark.encode(frame, tokenizer, mode="dropout")


@needs_spark
def test_translations_are_those_of_the_program(session, corpus, whole, program, tmp_path):
    program("translate", "--model", MODEL, "--compute", "stored", "--beam-size", 2, whole, "-o", tmp_path / "theirs")
    frame = dragoman_spark.read_lines(session, corpus)
    progress = dragoman_spark.Progress(session)
    made = dragoman_spark.translate(frame, MODEL, beam_size=2, queued=30, progress=progress)
    dragoman_spark.write_lines(made, tmp_path / "en", column="translation", single_file=True)
    assert (tmp_path / "en").read_bytes() == (tmp_path / "theirs").read_bytes()
    assert progress.lines == 1014 + len(LINES) and progress.tokens > progress.lines and progress.seconds > 0


@needs_spark
def test_rows_keep_their_other_columns(session, translator):
    rows = [(1, "Ein Hund läuft."), (2, None), (3, ""), (4, "Eine Frau spielt Gitarre.")]
    frame = session.createDataFrame(rows, "id int, de string").repartition(3)
    made = dragoman_spark.translate(frame, MODEL, column="de", output="en", score="score", threads=1)
    assert made.columns == ["id", "de", "en", "score"]
    found = {row.id: row for row in made.collect()}
    for number, text in rows:
        best = None if text is None else translator.translate_n_best(text)[0]
        assert (found[number].en, found[number].score) == ((best.text, best.score) if best else (None, None))
        assert found[number].de == text


@needs_spark
def test_scores_are_those_of_the_scorer(session, model):
    pairs = [("Ein Hund läuft.", "A dog is running."), ("Ein Hund läuft.", None), ("Eine Frau.", "Two men sit.")]
    frame = session.createDataFrame(pairs, "source string, target string").coalesce(1)
    scorer = dragoman.Scorer(model, length_penalty="fairseq")
    expected = [None if target is None else scorer.score(source, target).score for source, target in pairs]
    rows = dragoman_spark.score(frame, MODEL, length_penalty="fairseq").collect()
    assert [row.score for row in rows] == expected


@needs_spark
def test_models_are_shipped_or_at_a_path(session, translator, tmp_path):
    frame = session.createDataFrame([("Ein Hund läuft.",)], "text string")
    name = dragoman_spark.add_model(session, MODEL, "shipped-model")
    assert name == "shipped-model"
    expected = translator.translate("Ein Hund läuft.")
    assert dragoman_spark.translate(frame, name).first().translation == expected
    os.symlink(MODEL, tmp_path / "inner")
    packed = shutil.make_archive(str(tmp_path / "packed"), "gztar", MODEL.parent, MODEL.name)
    session.sparkContext.addArchive(f"{packed}#archive")
    assert dragoman_spark.translate(frame, f"archive/{MODEL.name}").first().translation == expected
    with pytest.raises(Exception, match="has neither .*no-model.*add_model"):
        dragoman_spark.translate(frame, "no-model").collect()
    with pytest.raises(dragoman.MissingFileError, match="needs a model folder"):
        dragoman_spark.add_model(session, tmp_path / "missing")


@needs_spark
@pytest.mark.parametrize("duplicates", ["pair", "source", "none"])
def test_prepared_pairs_are_those_of_the_program(session, multi30k, program, tmp_path, duplicates):
    import gzip

    from pyspark.sql import functions as F

    sides = [gzip.open(next(multi30k.glob(f"*val*.{side}*")), "rt").read().splitlines()[:300] for side in ("de", "en")]
    pairs = [list(pair) for pair in zip(*sides)]
    pairs[7:7] = [["", "empty"], ["equal", "equal"], ["Wort  eins", "Word  one"], ["\ufffd x", "x y"], ["жук", "beetle"]]
    pairs += [pairs[3], [pairs[4][0], "another"], ["Wort eins", "Word one"]] + pairs[100:140]
    (tmp_path / "pairs.tsv").write_text("".join("\t".join(pair) + "\n" for pair in pairs), newline="\n")
    words = ["--squeeze-spaces", "--max-length", 20, "--source-script", "Latin", "--target-script", "Latin"]
    words += ["--duplicates", duplicates, "--output-format", "tsv", "--output", tmp_path / "theirs.tsv"]
    program("prepare", "--tsv", tmp_path / "pairs.tsv", *words)
    columns = F.split("text", "\t")
    frame = dragoman_spark.read_lines(session, tmp_path / "pairs.tsv")
    frame = frame.select(columns[0].alias("source"), columns[1].alias("target"))
    filters = {"squeeze_spaces": True, "max_length": 20, "source_script": "Latin", "target_script": "Latin"}
    made = dragoman_spark.prepare(frame, duplicates=duplicates, ordered=True, **filters)
    rows = "".join(f"{row.source}\t{row.target}\n" for row in made.collect())
    assert made.columns == ["source", "target"] and rows == (tmp_path / "theirs.tsv").read_text()
    with pytest.raises(ValueError, match="needs source_script and target_script"):
        dragoman_spark.prepare(frame)
    with pytest.raises(TypeError, match="no filter 'max_len'"):
        dragoman_spark.prepare(frame, min_script=0, max_len=3)


@needs_spark
def test_mistakes_are_errors_before_a_job_starts(session):
    frame = session.createDataFrame([("a", "b")], "text string, translation string")
    with pytest.raises(ValueError, match="no column 'txt'; it has text, translation"):
        dragoman_spark.translate(frame, MODEL, column="txt")
    with pytest.raises(ValueError, match="has a column 'translation' already"):
        dragoman_spark.translate(frame, MODEL)
    with pytest.raises(dragoman.BadInputError, match="no option 'beam_sise'; did you mean 'beam_size'") as raised:
        dragoman_spark.translate(frame, MODEL, output="en", beam_sise=3)
    assert raised.value.key == "beam_sise"
    with pytest.raises(ValueError, match="at least one path"):
        dragoman_spark.read_lines(session)


def test_without_pyspark_the_error_names_the_remedy():
    code = (
        "import sys; sys.modules['pyspark'] = None\n"
        "import dragoman.spark\n"
        "try: dragoman.spark.read_lines(None, 'x')\n"
        "except dragoman.UnsupportedError as error: print(error)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "pip install 'pyspark[sql]>=4'" in said.stdout, said.stderr
