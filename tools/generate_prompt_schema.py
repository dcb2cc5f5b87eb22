"""Write contract/schemas/prompt-request.schema.json from the model of the request.

python tools/generate_prompt_schema.py           write it
python tools/generate_prompt_schema.py --check   exit 1 where the committed file differs
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from slm2.prompt_request import json_schema

TARGET = Path(__file__).resolve().parent.parent / "contract" / "schemas" / "prompt-request.schema.json"


def main() -> int:
    """Write or compare; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    content = json.dumps(json_schema(), indent=2) + "\n"
    if parser.parse_args().check:
        same = TARGET.exists() and TARGET.read_text(encoding="utf-8") == content
        print("the schema is what the generator writes" if same else "prompt-request.schema.json is not what the generator writes")
        return 0 if same else 1
    TARGET.write_text(content, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
