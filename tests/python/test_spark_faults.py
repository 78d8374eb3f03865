"""`dragoman.spark` with odd names, odd columns, wrong options and damaged or exchanged files."""

import gzip
import shutil

import pytest

import dragoman
from conftest import MODEL
from dragoman import spark as dragoman_spark
from test_spark import needs_spark, session  # noqa: F401: a fixture

pytestmark = needs_spark


def texts_of(session, *texts, columns="text string"):
    return session.createDataFrame([(text,) for text in texts], columns).coalesce(1)


def test_names_of_files_may_have_any_characters(session, tmp_path):
    names = ["a b.txt", "b #1 50%20.txt", "c[1]{x,y}*?.txt", "größe.txt"]
    for name in names:
        (tmp_path / name).write_text(name + "\n")
    for decoy in ("c1x.txt", "c1.txt"):  # which a pattern would match
        (tmp_path / decoy).write_text(decoy + "\n")
    lines = [row.text for row in dragoman_spark.read_lines(session, tmp_path).collect()]
    assert lines == sorted([*names, "c1x.txt", "c1.txt"])
    (tmp_path / "_ignored.txt").write_text("lost\n")
    with pytest.raises(ValueError, match="it ignores names that begin with _"):
        dragoman_spark.read_lines(session, tmp_path / "_ignored.txt")


def test_many_files_are_read_in_order(session, tmp_path):
    for number in range(150):
        (tmp_path / f"{number:03}.txt").write_text(f"{number}\n")
    lines = dragoman_spark.read_lines(session, tmp_path)
    assert [row.text for row in lines.collect()] == [str(number) for number in range(150)]


def test_a_text_is_one_line(session, tmp_path):
    frame = session.createDataFrame([(b"a\nb\xff",), (None,), (b"c\rd\n",)], "text binary").coalesce(1)
    for given in (frame, frame.select(frame.text.cast("string").alias("text"))):
        dragoman_spark.write_lines(given, tmp_path / "lines", single_file=True, overwrite=True)
        assert (tmp_path / "lines").read_bytes() == b"a b\xff\n\nc\rd \n"


def test_a_file_is_compressed_if_its_name_says_so(session, tmp_path):
    frame = session.range(100).select("id").selectExpr("cast(id as string) text").repartition(3)
    dragoman_spark.write_lines(frame, tmp_path / "lines.gz", single_file=True)
    dragoman_spark.write_lines(dragoman_spark.read_lines(session, tmp_path / "lines.gz"), tmp_path / "lines", single_file=True)
    assert gzip.decompress((tmp_path / "lines.gz").read_bytes()) == (tmp_path / "lines").read_bytes()
    hadoop = session.sparkContext._jsc.hadoopConfiguration()
    hadoop.set("mapreduce.output.fileoutputformat.compress", "true")
    try:
        dragoman_spark.write_lines(texts_of(session, "eins"), tmp_path / "plain", single_file=True)
    finally:
        hadoop.set("mapreduce.output.fileoutputformat.compress", "false")
    assert (tmp_path / "plain").read_bytes() == b"eins\n"


def test_writing_deletes_no_input_and_no_folder(session, tmp_path):
    dragoman_spark.write_lines(texts_of(session, "eins", "zwei"), tmp_path / "lines")
    lines = dragoman_spark.read_lines(session, tmp_path / "lines")
    with pytest.raises(ValueError, match="reads files of .*lines; write to another folder"):
        dragoman_spark.write_lines(lines, tmp_path / "lines", overwrite=True)
    with pytest.raises(IsADirectoryError, match="is a folder; single_file=True writes a file"):
        dragoman_spark.write_lines(texts_of(session, "drei"), tmp_path / "lines", single_file=True, overwrite=True)
    with pytest.raises(IsADirectoryError, match=r"is a folder; save_counts\(\) writes a file"):
        dragoman_spark.save_counts(dragoman_spark.count_words(lines), tmp_path / "lines")
    assert [row.text for row in lines.collect()] == ["eins", "zwei"]
    dragoman_spark.write_lines(texts_of(session, "drei"), tmp_path / "lines", overwrite=True)
    assert dragoman_spark.read_lines(session, tmp_path / "lines").collect()[0].text == "drei"


def test_a_single_file_is_written_beside_folders_of_any_name(session, tmp_path):
    # The parts of an array job have this name.
    dragoman_spark.write_lines(texts_of(session, "eins", "zwei"), tmp_path / "text.parts")
    lines = dragoman_spark.read_lines(session, tmp_path / "text.parts")
    dragoman_spark.write_lines(lines, tmp_path / "text", single_file=True)
    assert (tmp_path / "text").read_text() == "eins\nzwei\n"
    assert [row.text for row in lines.collect()] == ["eins", "zwei"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text", "text.parts"]
    with pytest.raises(Exception, match="tief"):
        dragoman_spark.write_lines(
            lines.selectExpr("string(raise_error('tief')) AS text"), tmp_path / "failed", single_file=True
        )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text", "text.parts"]


def test_links_and_devices_are_not_replaced(session, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "file")
    for name in (tmp_path / "link", "/dev/full"):
        with pytest.raises(ValueError, match="is a link or a device"):
            dragoman_spark.write_lines(texts_of(session, "eins"), name, single_file=True, overwrite=True)
        with pytest.raises(ValueError, match="is a link or a device"):
            dragoman_spark.save_counts(dragoman_spark.count_words(texts_of(session, "eins")), name)


def test_options_of_learning_are_checked_before_the_count(session):
    counts = dragoman_spark.count_words(texts_of(session, "eins").selectExpr("string(raise_error('counted')) AS text"))
    for options in ({"vocab_sise": 300}, {"vocab_size": -5}):
        with pytest.raises(dragoman.BadInputError, match="vocab_si"):
            dragoman_spark.learn_bpe(counts, **options)


def test_two_writers_of_one_file_leave_a_complete_one(session, tmp_path):
    import threading

    def write(word):
        frame = session.range(200000).selectExpr(f"concat('{word}', id) AS text")
        dragoman_spark.write_lines(frame, tmp_path / "text", single_file=True, overwrite=True)

    threads = [threading.Thread(target=write, args=(word,)) for word in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = (tmp_path / "text").read_text().splitlines()
    assert len(lines) == 200000 and len({line[0] for line in lines}) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["text"]


def test_an_incomplete_count_file_is_named_and_removed(session, tmp_path):
    import resource

    counts = dragoman_spark.count_words(session.range(20000).selectExpr("cast(id as string) text"))
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limit[1]))
    try:
        with pytest.raises(OSError) as raised:
            dragoman_spark.save_counts(counts, tmp_path / "counts")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert raised.value.filename == str(tmp_path / "counts.partial") and list(tmp_path.iterdir()) == []


def test_nothing_has_no_words_and_no_lines(session, tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    nothing = session.createDataFrame(session.sparkContext.emptyRDD(), "text string")
    for frame in (dragoman_spark.read_lines(session, tmp_path / "empty"), nothing):
        dragoman_spark.save_counts(dragoman_spark.count_words(frame), tmp_path / "counts")
        dragoman_spark.write_lines(frame, tmp_path / "lines", single_file=True, overwrite=True)
        assert (tmp_path / "counts").read_bytes() == (tmp_path / "lines").read_bytes() == b""
        assert dragoman_spark.translate(frame, MODEL).collect() == []
        assert dragoman_spark.encode(frame, MODEL / "tokenizer.json").collect() == []


def test_columns_that_do_not_fit_are_errors_before_a_job_starts(session):
    numbers = session.createDataFrame([(1, 2)], "source int, target int")
    calls = [
        lambda frame: dragoman_spark.count_words(frame, column="source"),
        lambda frame: dragoman_spark.translate(frame, MODEL, column="source"),
        lambda frame: dragoman_spark.encode(frame, MODEL / "tokenizer.json", column="source"),
        lambda frame: dragoman_spark.score(frame, MODEL),
        lambda frame: dragoman_spark.prepare(frame, min_script=0),
        lambda frame: dragoman_spark.write_lines(frame, "unwritten", column="source"),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="column 'source' is of type int; it must be string or binary"):
            call(numbers)
        with pytest.raises(ValueError, match=r"has 2 columns 'source'; rename them with toDF\(\)"):
            call(numbers.toDF("source", "source"))
    with pytest.raises(ValueError, match="column 'count' is of type string; it must be bigint"):
        dragoman_spark.learn_bpe(session.createDataFrame([("a", "2")], "word string, count string"))
    dotted = texts_of(session, "Hund").toDF("doc.text")
    with pytest.raises(ValueError, match="does not take the column 'doc.text'; rename it"):
        dragoman_spark.translate(dotted, MODEL, column="doc.text")
    assert bytes(dragoman_spark.count_words(dotted, column="doc.text").first().word) == b"Hund"
    with pytest.raises(ValueError, match="output and score are both 'x'"):
        dragoman_spark.translate(texts_of(session, "Hund"), MODEL, output="x", score="x")


def test_columns_that_prepare_adds_are_not_those_of_the_frame(session):
    frame = session.createDataFrame([("a", "b", 1)], "source string, target string, __DRAGOMAN_line int")
    with pytest.raises(ValueError, match="adds a column '__dragoman_line' for a time"):
        dragoman_spark.prepare(frame, min_script=0)


def test_counts_without_a_word_are_named(session, tmp_path):
    for row in ((None, 2), ("a", None)):
        counts = session.createDataFrame([("b", 1), row], "word string, count bigint")
        with pytest.raises(Exception, match="a row without a word or without a count"):
            dragoman_spark.save_counts(counts, tmp_path / "counts")
    assert not list(tmp_path.iterdir())


def test_a_model_may_be_the_current_folder(session, tmp_path, monkeypatch):
    frame = texts_of(session, "Ein Hund läuft.")
    (expected,) = dragoman_spark.translate(frame, MODEL).collect()
    monkeypatch.chdir(MODEL)
    for name in (".", f"../{MODEL.name}", f"./../{MODEL.name}/."):
        assert dragoman_spark.translate(frame, name).collect() == [expected], name


def test_pairs_may_be_bytes(session):
    frame = session.createDataFrame([(b"Ein  Hund", b"A dog"), (b"\xff", b"x")], "source binary, target binary")
    kept = dragoman_spark.prepare(frame, min_script=0, squeeze_spaces=True, max_length=None).collect()
    assert [(bytes(row.source), bytes(row.target)) for row in kept][0] == (b"Ein Hund", b"A dog")


def test_the_program_names_the_mistake(session, tmp_path):
    pairs = session.createDataFrame([("a", "b")], "source string, target string")
    with pytest.raises(dragoman.Error, match="prepare ended with status 2: .*--unit"):
        dragoman_spark.prepare(pairs, min_script=0, unit="word")
    for wrong in ({"invalid_utf8": "perhaps"}, {"memory": "lots"}):
        with pytest.raises(dragoman.Error, match="count-words ended with status 2: .*(perhaps|lots)"):
            dragoman_spark.count_words(texts_of(session, "a"), **wrong)
    # The program ends while it still gets text, more than a pipe holds.
    (tmp_path / "text").write_bytes(b"\xff\n" + b"ein Hund\n" * 300_000)
    session.conf.set("spark.sql.files.maxPartitionBytes", "100m")
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "10000")
    try:
        with pytest.raises(Exception, match="count-words ended with status 1: .*UTF-8"):
            dragoman_spark.count_words(dragoman_spark.read_lines(session, tmp_path / "text"), invalid_utf8="fail").collect()
    finally:
        session.conf.set("spark.sql.files.maxPartitionBytes", "20000")
        session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "100")


def test_an_exchanged_model_is_opened_again(session, tokenizer, tmp_path):
    """The Python processes of Spark run the tasks of many jobs."""
    frame = texts_of(session, "Ein Hund läuft.")
    many = session.createDataFrame([("Ein Hund läuft.",)] * 8, "text string").repartition(4)  # more than there are processes
    shutil.copytree(MODEL, tmp_path / "model")
    shutil.copy(MODEL / "tokenizer.json", tmp_path / "tokenizer.json")
    assert dragoman_spark.translate(many, tmp_path / "model").collect()[7].translation
    ids = tokenizer.encode("Ein Hund läuft.").tolist()
    assert [row.tokens for row in dragoman_spark.encode(many, tmp_path / "tokenizer.json").collect()] == [ids] * 8
    largest = max((tmp_path / "model").iterdir(), key=lambda file: file.stat().st_size)
    largest.write_bytes(largest.read_bytes()[:1000])
    with pytest.raises(Exception, match=largest.name):
        dragoman_spark.translate(frame, tmp_path / "model").collect()
    other = dragoman.learn_bpe(texts=["Ein Hund"] * 3, vocab_size=270)
    other.save(tmp_path / "tokenizer.json")
    assert dragoman_spark.encode(frame, tmp_path / "tokenizer.json").first().tokens == other.encode("Ein Hund läuft.").tolist()


def test_a_cancelled_task_ends_soon(session):
    """Its Python process learns of it from the next batch that it writes."""
    import pyarrow as pa

    from dragoman.spark import _models, _services

    machine, place = (1, "cpu", "stored"), _models.Place.of(MODEL)
    columns = [pa.array(["Ein Hund."] * 1200), pa.array(["A dog."] * 1200)]
    batch = pa.RecordBatch.from_arrays(columns, ["source", "target"])
    common = {"place": place, "machine": machine, "progress": None}
    translated = _services._translate_batches(
        iter([batch]), column="source", names=["translation"], queued=100, options={"beam_size": 1}, **common
    )
    assert [each.num_rows for each in translated] == [512, 512, 176]
    scored = _services._score_batches(iter([batch]), pair=("source", "target"), output="score", options={}, **common)
    assert [each.num_rows for each in scored] == [512, 512, 176]


def test_names_of_shipped_models_are_plain(session):
    for name in ("../up", "a#b", "a b", "x/y", ".hidden"):
        with pytest.raises(ValueError, match="pass another name"):
            dragoman_spark.add_model(session, MODEL, name)
