"""One loaded contract, shared by threads and by forked processes, gives the ids that it gives alone."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

import slm2
from documents import generated

TEXTS = list(generated(17, 150))


def test_threads_that_share_a_contract_get_equal_ids():
    tokenizer = slm2.load(engine="native").tokenizer
    alone = [slm2.load(engine="native").tokenizer.encode(text) for text in TEXTS[:5]] + [tokenizer.encode(text) for text in TEXTS[5:]]
    with ThreadPoolExecutor(16) as pool:
        for found in pool.map(lambda _: [tokenizer.encode(text) for text in TEXTS], range(32)):
            assert found == alone


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_processes_forked_while_threads_encode_get_equal_ids_and_end():
    tokenizer = slm2.load(engine="native").tokenizer
    alone = [tokenizer.encode(text) for text in TEXTS]
    with ThreadPoolExecutor(4) as pool:
        busy = [pool.submit(lambda: [tokenizer.encode(text) for _ in range(20) for text in TEXTS]) for _ in range(4)]
        statuses = []
        for _ in range(20):
            child = os.fork()
            if child == 0:
                try:
                    os._exit(0 if [tokenizer.encode(text) for text in TEXTS] == alone else 1)
                finally:
                    os._exit(2)  # an error must not come back into the test run of the parent
            statuses.append(os.waitpid(child, 0)[1])
        assert statuses == [0] * 20
        assert all(future.result() for future in busy)
