"""The whole pipeline against the original one: hostile Unicode, a seed, every parameter that transformers has (tier 2).

Each scenario is three vectors: the request (its ids are transformers' ``apply_chat_template``), the draws over these ids
(``generate`` of transformers and torch, recorded by tools/record_pipeline.py), and the bytes of the ids that were drawn.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tools.vector_cases.case import Case, Group, as_json

__all__ = ["FLAGS", "RECORDED", "SCENARIOS", "groups", "recipe", "recorded_by"]

FLAGS = {
    "pipeline": "a scenario is three vectors of one number: prompt, draws, text; the draws were recorded from transformers' generate()",
    "hostile": "text that splitters, normalizers, renderers and terminals get wrong",
}

RECORDED = Path(__file__).resolve().parents[2] / "tests" / "data" / "pipeline-torch-2.13.json"
WIDTH, LIMIT = 151_936, 151_669
STEPS = 12
BUDGET = {"context": 32768, "reserve": 1024}

Json = dict[str, Any]

HOSTILE = {
    "joiners": "👩‍👩‍👧‍👦 क्‍ष ﷽\u200b\u200c\u200d\u2060\ufeff zero\u00adwidth",
    "direction": "abc \u202eevil\u202c \u2067עברית\u2069 \u200fمرحبا\u200e 1٢3",
    "marks": "Z\u0351\u036b\u0343\u036a\u0302A\u0337\u0316\u0324L\u0340\u0341G\u0344O\u0f73 e\u0323\u0301 \u0344\u0390",
    "hangul": "\u1112\u1161\u11ab\u1100\u1173\u11af 한글 \uac00\u11a8\u11a8 ㅎㅏㄴ",
    "compatibility": "ﬁ ﬃ ㍿ ｶﾞ Ⅷ ℌ 𝕳𝖊𝖑𝖑𝖔 Ａｂ１２ ΐ ΐ Å Å",
    "emoji": "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f 👍🏽 🇺🇳 1️⃣ ©️ ☠︎",
    "controls": "a\u0000b\u0001\u0008\u001b[31m\u007f\u0085\u2028\u2029\u000b\u000cz",
    "white space": "\u00a0\u1680\u2003\u3000x \t\r\n\r\n  y\u2009z   \n \n",
    "contractions": "it's IT'S it\u2019s 'ſ 'LL 'll x'Ve don't'd 'stuff ''s",
    "digits": "1234567 ٣٤٥ Ⅻ ½ 𝟙𝟚 3.14e-10 ①②",
    "private use": "\ue000\uf8ff\U000f0000\U0010fffd\ufffe\uffff\ufdd0",
    "normalization": "\u212b\u2126\u0958\u0929\U00011935\U00011930 x\u0898\u0334 \u1e9b\u0323 q\u0307\u0323",
    "scripts": "Ελληνικά русский ქართული አማርኛ ไทย ລາວ தமிழ் བོད་ 𓀀 𒀀 漢字かな交じり文",
    "glitch": " SolidGoldMagikarp_TestCase?family�� ÃÂÃÂ{{{{]]]]>>>>",
    "code": "def f(x):\n\treturn {'a': [1,2,3]}  # <evidence> </local_state> <|no|> \\u0041 &lt;\n\n\n",
    "long": "ab" * 300 + " " + "的" * 120 + "!?" * 60,
}


def _scenario(number: int, name: str, text: str) -> Json:
    """Parts of the request and parameters differ from scenario to scenario, each value of each parameter with several others."""
    request: Json = {"policy": f"Answer in one line. {text[:40]}", "user_turn": f"{text}\n?", "budget": BUDGET}
    if number % 2:
        request["local_state"] = [
            {"name": "note", "value": " ".join(text.split())[:60], "priority": 1},
            {"name": "day", "value": "Friday", "priority": 2},
        ]
    if number % 3 == 0:
        request["retrieved"] = [
            {"id": "b", "source": "s", "text": text, "score": 0.5},
            {"id": "a", "source": "s", "text": "x", "score": 0.5},
        ]
    if number % 4 == 1:
        request["history"] = [{"role": "user", "content": text[::-1]}, {"role": "assistant", "content": f"{text}."}]
    if number % 5 == 2:
        request["options"] = {"enable_thinking": False}
    config = {
        "profile": "publisher",
        "temperature": [0.6, 1.0, 0.7, 0, 1.3, 0.25][number % 6],
        "top_k": [20, 0, 50, 500][number % 4],
        "top_p": [0.95, 1.0, 0.8][number % 3],
        "min_p": [0.0, 0.05, 0.3, 0.0, 0.01][number % 5],
        "repetition_penalty": [1.1, 1.0, 1.5, 0.8, 1.05, 2.0, 1.2][number % 7],
        "rng": "mt19937-torch",
        "seed": 9_000 + number,
        "max_tokens": 64,
        "stop_ids": [151645, 151643],
    }
    if number % 4 == 2:
        config["banned_ids"] = [0, 11, 13, 198, 9707]
    return {"name": name, "request": request, "config": config, "recipe": recipe(number)}


def recipe(number: int, step: int = 0) -> Json:
    """The row of a step of a scenario."""
    scale, head = [1.0, 0.5, 2.0][number % 3], [9.0, 14.0, 4.0, 6.0][number % 4]
    return {"seed": 70_000 + number, "step": step, "scale": scale, "head": head, "bfloat16": number % 2 == 1}


SCENARIOS = [_scenario(number, name, text) for number, (name, text) in enumerate(HOSTILE.items())]


def recorded_by() -> dict[str, str]:
    """The version of torch whose draws were recorded, and the kind of processor."""
    record = json.loads(RECORDED.read_bytes())
    return {"torch": f"{record['torch'].split('+')[0]} ({record['cpu_capability']})"}


def groups() -> list[Group]:
    """All groups; numbers of the three belong together."""
    records = json.loads(RECORDED.read_bytes())["records"]
    prompts, draws, texts = [], [], []
    for number, (scenario, record) in enumerate(zip(SCENARIOS, records, strict=True)):
        assert record["name"] == scenario["name"], "record again: tools/record_pipeline.py"
        comment, flags = f"pipeline: {scenario['name']}", ("pipeline", "hostile")
        rows = [{"recipe": recipe(number, step)} for step in range(STEPS)]
        asked = {"config": scenario["config"], "width": WIDTH, "history": record["input_ids"], "rows": rows}
        drawn = [step[0] for step in record["steps"]]
        prompts.append(Case(comment, "assemble", {"request": as_json(scenario["request"])}, "P-40", flags=flags))
        steps = {"steps": record["steps"]}
        draws.append(Case(comment, "sample_kept", asked, "S-13", steps, profile="publisher", flags=flags))
        # Profile publisher draws from the padding too, and no decoder has text for that (decisions D1).
        outside = next(((place, token) for place, token in enumerate(drawn) if token >= LIMIT), None)
        error = outside and ("token_id_out_of_range", {"position": outside[0], "id": outside[1], "limit": LIMIT})
        texts.append(Case(comment, "decode", {"ids": drawn, "special": "bytes"}, "T-10", error=error, profile="publisher", flags=flags))
    return [Group("pipeline-prompt", prompts), Group("pipeline-draws", draws), Group("pipeline-text", texts)]
