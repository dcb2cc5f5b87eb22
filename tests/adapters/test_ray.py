"""``slm2.adapters.ray`` on Ray's local mode: the ids that ``encode_corpus`` writes, in two processes."""

from __future__ import annotations

import logging
import shutil
import sys
import tempfile

import pyarrow
import pytest
import ray
import ray.data

import slm2
from corpora import options, run_page_example, shard_documents, texts, write_lines
from slm2.adapters.ray import TableEncoder, encode_dataset
from slm2.corpus import encode_corpus
from slm2.errors import Slm2Error

pytestmark = [
    pytest.mark.xdist_group("ray"),
    pytest.mark.timeout(240),
    # Of Ray's own settings, which it sets itself.
    pytest.mark.filterwarnings("ignore::DeprecationWarning:ray.data.context"),
]
ROWS = texts(6, 300)


@pytest.fixture(scope="module")
def cluster():
    """One node with two processors beside those of two actors; the name of its folder is short, since sockets are in it."""
    place = tempfile.mkdtemp(prefix="ray")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        ray.init(
            num_cpus=4,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
            object_store_memory=100 * 2**20,
            _temp_dir=place,
        )
        ray.data.DataContext.get_current().enable_progress_bars = False
        yield
        ray.shutdown()
    shutil.rmtree(place, ignore_errors=True)


@pytest.mark.usefixtures("cluster")
def test_ids_are_those_of_the_plain_function(tmp_path):
    encode_corpus(slm2.load(engine="native"), [write_lines(tmp_path / "a.txt", ROWS)], tmp_path / "out", options())
    table = pyarrow.table({"n": range(len(ROWS)), "text": ROWS})
    dataset = ray.data.from_arrow([table.slice(at, 75) for at in range(0, len(ROWS), 75)])
    done = pyarrow.concat_tables(ray.get(encode_dataset(dataset, "text", append="endoftext", actors=2).to_arrow_refs())).sort_by("n")
    assert done.schema.field("ids").type == pyarrow.list_(pyarrow.field("item", pyarrow.uint32(), nullable=False))
    assert done.drop_columns("ids").equals(table)
    assert done.column("ids").to_pylist() == shard_documents(tmp_path / "out")


@pytest.mark.usefixtures("cluster")
def test_the_class_is_one_that_map_batches_takes_and_a_broken_row_is_told():
    dataset = ray.data.from_arrow(pyarrow.table({"text": ["a", None]}))
    settings = {"column": "text", "append": "none"}
    one = ray.data.ActorPoolStrategy(size=1)
    marked = dataset.map_batches(
        TableEncoder, fn_constructor_kwargs={**settings, "on_error": "null"}, batch_format="pyarrow", compute=one
    ).take_all()
    assert [None if row["ids"] is None else list(row["ids"]) for row in marked] == [[64], None]
    refusing = dataset.map_batches(TableEncoder, fn_constructor_kwargs=settings, batch_format="pyarrow", compute=one)
    with pytest.raises(ray.exceptions.RayTaskError, match=r"row 1 \(from 0\) of column text is refused"):
        refusing.take_all()


@pytest.mark.usefixtures("cluster")
def test_the_page_shows_what_happens():
    run_page_example("Ray Data")


def test_without_ray_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray.data", None)
    with pytest.raises(Slm2Error) as caught:
        encode_dataset(None, "text", append="none", actors=1)
    assert caught.value.fields == {"package": "ray[data]", "extra": "ray"}
