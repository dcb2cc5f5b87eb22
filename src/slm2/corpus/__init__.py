"""Bulk work: a corpus of files to shards of ids, streaming and resumable; tables of Arrow to tables with ids (docs/corpus.md)."""

from __future__ import annotations

from slm2.corpus.options import CorpusOptions
from slm2.corpus.run import CorpusReport, encode_corpus
from slm2.corpus.shards import Shard, read_shards
from slm2.corpus.tables import TableEncoder

__all__ = ["CorpusOptions", "CorpusReport", "Shard", "TableEncoder", "encode_corpus", "read_shards"]
