"""Record what the original Python pipeline makes of the scenarios of tools/vector_cases/pipeline.py.

    python tools/record_pipeline.py tests/data/pipeline-torch-2.13.json [--source .cache/publisher]

Needs torch and transformers (pip install torch==2.13.0 transformers==5.24.0), a processor with AVX-512, and what tools/fetch_sources.py
fetches. Each record has the ids of ``apply_chat_template`` and, of ``generate``, for each step the id, the number of ids kept, and the
first 16 hex digits of the SHA-256 over the kept ids.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
import transformers  # noqa: E402
from tools.vector_cases.pipeline import SCENARIOS, STEPS  # noqa: E402

from slm2.conformance.composed import composed  # noqa: E402
from slm2.conformance.transformers_pipeline import TransformersPipeline, missing  # noqa: E402


def main() -> int:
    """Record; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("--source", type=Path, default=ROOT / ".cache" / "publisher")
    arguments = parser.parse_args()
    if reason := missing():
        raise SystemExit(reason)
    pipeline, records = TransformersPipeline(arguments.source), []
    for scenario in SCENARIOS:
        ids = pipeline.prompt(*composed(scenario["request"]))
        steps = pipeline.draws(scenario["config"], ids, scenario["recipe"], STEPS)
        records.append({"name": scenario["name"], "input_ids": ids, "steps": steps})
    head = {"torch": torch.__version__, "transformers": transformers.__version__}
    head["cpu_capability"] = torch.backends.cpu.get_cpu_capability()
    body = "".join(f"{json.dumps(key)}: {json.dumps(value)},\n" for key, value in head.items())
    rows = ",\n".join(json.dumps(record, separators=(",", ":")) for record in records)
    arguments.output.write_text("{\n" + body + f'"records": [\n{rows}\n]\n}}\n', encoding="utf-8")
    print(f"{len(records)} scenarios, {sum(len(record['steps']) for record in records)} steps")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
