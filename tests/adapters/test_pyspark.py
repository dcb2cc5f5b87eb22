"""``slm2.adapters.pyspark`` on Spark's local mode: the ids that ``encode_corpus`` writes, in two workers."""

from __future__ import annotations

import sys

import pytest
from pyspark.errors import PythonException
from pyspark.sql import SparkSession

import slm2
from corpora import options, run_page_example, shard_documents, texts, write_lines
from slm2.adapters.pyspark import encode_frame, ids_udf
from slm2.corpus import encode_corpus
from slm2.errors import Slm2Error

pytestmark = [
    pytest.mark.xdist_group("pyspark"),
    pytest.mark.timeout(240),
    # Spark says so wherever pandas is imported; what is tested here passes through Arrow alone.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]
ROWS = texts(7, 300)


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    """One machine with two workers, which run this interpreter."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        settings = {
            "spark.ui.enabled": "false",
            "spark.driver.memory": "512m",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
            "spark.log.level": "OFF",
        }
        builder = SparkSession.builder.master("local[2]")
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        yield session
        session.stop()


def test_ids_are_those_of_the_plain_function(spark, tmp_path):
    encode_corpus(slm2.load(engine="native"), [write_lines(tmp_path / "a.txt", ROWS)], tmp_path / "out", options())
    frame = spark.createDataFrame(list(enumerate(ROWS)), "n int, text string").repartition(2)
    encoded = encode_frame(frame, "text", append="endoftext").withColumn("again", ids_udf(append="endoftext")("text"))
    assert encoded.schema.simpleString() == "struct<n:int,text:string,ids:array<int>,again:array<int>>"
    rows = sorted(encoded.collect(), key=lambda row: row["n"])
    assert [row["text"] for row in rows] == ROWS
    assert [row["ids"] for row in rows] == shard_documents(tmp_path / "out")
    assert [row["again"] for row in rows] == [row["ids"] for row in rows]


def test_a_broken_row_is_told_or_marked(spark):
    frame = spark.createDataFrame([("a",), (None,)], "text string").coalesce(1)
    marked = encode_frame(frame, "text", append="none", on_error="null").collect()
    assert [row["ids"] for row in marked] == [[64], None]
    assert marked[1]["refused"] == "missing_field: text is required and was not given"
    with pytest.raises(PythonException, match="row 1 \\(from 0\\) of column text is refused \\(missing_field\\)"):
        encode_frame(frame, "text", append="none").collect()


@pytest.mark.usefixtures("spark")
def test_the_page_shows_what_happens():
    run_page_example("Spark")


def test_without_spark_the_error_names_the_extra(monkeypatch):
    for module in ("pyspark.sql.types", "pyspark.sql.functions"):
        monkeypatch.setitem(sys.modules, module, None)
    for call in (lambda: encode_frame(None, "text", append="none"), lambda: ids_udf(append="none")):
        with pytest.raises(Slm2Error) as caught:
            call()
        assert caught.value.fields == {"package": "pyspark", "extra": "pyspark"}
