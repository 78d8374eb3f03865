"""Dragoman on Apache Spark: vocabularies, translation and scores of DataFrames, on any number of machines.

>>> from dragoman import spark as dragoman_spark  # doctest: +SKIP
>>> german = dragoman_spark.read_lines(session, "corpus/*.de.gz")  # doctest: +SKIP
>>> english = dragoman_spark.translate(german, "models/de-en", beam_size=4)  # doctest: +SKIP
>>> dragoman_spark.write_lines(english, "corpus.en", column="translation")  # doctest: +SKIP

Each function takes a DataFrame of PySpark 4 and returns one with further columns. Results have the bytes of the program
`dragoman` on one machine, whatever the parts, the executors, and the tasks that Spark runs again.

Every machine needs this package, pyarrow, and the model: at a path that all of them see, or shipped by `add_model`. The
module itself can be imported without PySpark.
"""

from ._counting import count_words, learn_bpe, save_counts
from ._encoding import encode
from ._lines import read_lines, write_lines
from ._models import add_model
from ._preparing import PrepareOptions, prepare
from ._services import score, translate
from ._session import Progress

__all__ = [
    "PrepareOptions",
    "Progress",
    "add_model",
    "count_words",
    "encode",
    "learn_bpe",
    "prepare",
    "read_lines",
    "save_counts",
    "score",
    "translate",
    "write_lines",
]
