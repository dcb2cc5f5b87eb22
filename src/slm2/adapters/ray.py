"""Ray Data: a column of ids for a dataset, on as many machines as there are. Needs the extra ``ray``, on each of them."""

from __future__ import annotations

import importlib
from typing import Any

from slm2.corpus import TableEncoder
from slm2.errors import Slm2Error

__all__ = ["TableEncoder", "encode_dataset"]


def encode_dataset(dataset: Any, column: str, *, append: str, actors: int, **settings: Any) -> Any:  # noqa: ANN401  (of Ray)
    """The dataset with a column of ids: ``map_batches`` with :class:`slm2.corpus.TableEncoder`, opened once in each actor.

    The class can be given to ``map_batches`` as it is, too, with ``batch_format="pyarrow"`` and its settings as
    ``fn_constructor_kwargs``. Here the actors are held to the contract of this process, by its digest.

    Args:
        dataset: a ``ray.data.Dataset``.
        column: with the texts.
        append: what ends each document: ``none``, or the name of a special token such as ``endoftext``.
        actors: how many processes encode, each on one processor; fewer than there are, or none is left to read the dataset.
        settings: the others of :class:`slm2.corpus.TableEncoder`.

    Returns:
        A ``ray.data.Dataset``, which is encoded when it is read, as Ray has it.

    Raises:
        Slm2Error: ``dependency_missing`` without Ray Data, or what the encoder raises; while it is read, Ray raises its own
            error, which tells that.
    """
    try:
        data = importlib.import_module("ray.data")
    except ImportError:
        raise Slm2Error("dependency_missing", package="ray[data]", extra="ray") from None
    digest = TableEncoder(column, append=append, **settings).digest
    return dataset.map_batches(
        TableEncoder,
        fn_constructor_args=(column,),
        fn_constructor_kwargs={**settings, "append": append, "digest": digest},
        batch_format="pyarrow",
        compute=data.ActorPoolStrategy(size=actors),
        zero_copy_batch=True,
    )
