"""The expectation of each case: the publisher's where it has one, else by hand or the reference's.

The label ``publisher`` means that bytes, ids and text are its own; what it has no word for (findings, dropped reasoning, the account
of an assembly) is the contract's even there. The label ``contract`` means that all of the answer is.
"""

from __future__ import annotations

import json
from typing import Any, Literal

from tools.vector_cases import streaming
from tools.vector_cases.case import Case, output_text
from tools.vector_cases.oracle import Oracle, as_bytes, is_normal

from slm2.conformance.composed import composed
from slm2.conformance.sampling import OPERATIONS as SAMPLING_OPERATIONS
from slm2.conformance.suite import Testee

__all__ = ["Answers"]

Json = dict[str, Any]
Answer = tuple[Literal["publisher", "contract"], Json]


def _is_ours(case: Case) -> bool:
    """Whether a request has options that the publisher's template does not know."""
    return not {"continue_final_message", "preserve_thinking"}.isdisjoint(json.loads(case.inputs["request"]))


def _may_give_up(case: Case) -> bool:
    """Whether the row is one of those whose account the reference gives."""
    return case.expect is None


class Answers:
    """Answers to cases, from an oracle and the reference engine."""

    def __init__(self, oracle: Oracle, reference: Testee) -> None:
        self.oracle = oracle
        self._reference = reference

    def of(self, case: Case, profile: Literal["contract", "publisher"]) -> Answer:  # noqa: PLR0911  (one for each who answers)
        """Who answers, and ``{"expect": …}`` or ``{"error": …}``."""
        if case.error is not None:
            code, fields = case.error
            return "contract", {"error": {"code": code, "fields": self._spelled(fields)}}
        if case.op == "sample_kept" and case.expect is not None:
            return "publisher", {"expect": dict(case.expect)}
        if case.op in SAMPLING_OPERATIONS or case.op in ("reply", "session", "open", "draw") or (case.op == "render" and _is_ours(case)):
            return "contract", self._references(case, profile)
        if case.op == "render":
            return "publisher", self._rendered(case, profile)
        if case.op == "assemble":
            return self._given_up(case, profile) if _may_give_up(case) else ("publisher", self._assembled(case, profile))
        if case.op == "prompt_delta":
            return "contract", self._references(case, profile)
        if case.expect is not None:
            return "contract", {"expect": dict(case.expect)}
        if case.op == "stream":
            calls = streaming.expected(case.inputs["calls"], case.inputs["special"], self.oracle.token_bytes)
            return "contract", {"expect": {"calls": calls}}
        expect = self._publishers(case, profile)
        return ("publisher", {"expect": expect}) if expect is not None else ("contract", self._references(case, profile))

    def _publishers(self, case: Case, profile: Literal["contract", "publisher"]) -> Json | None:
        """What the publisher's tokenizer says; None where it cannot be asked."""
        oracle, inputs = self.oracle, case.inputs
        if case.op == "decode":
            return output_text(oracle.decoded(inputs["ids"], inputs["special"]))
        if case.op == "token_bytes":
            return output_text(oracle.token_bytes(inputs["token"]))
        if case.op in ("render_tokens", "assemble_tokens"):
            return None
        if case.op == "chunks":
            return self._in_parts(case, profile)
        if case.op == "append":
            return None if "max_pretoken" in inputs else oracle.growth(inputs["parts"], profile)
        return self._of_text(case, as_bytes(inputs), profile)

    def _of_text(self, case: Case, data: bytes, profile: str) -> Json | None:
        oracle = self.oracle
        if case.op == "token_id":
            return {"token": oracle.vocabulary.index(data) if data in oracle.vocabulary else None}
        if case.op == "encode_spans":
            known = profile == "contract" or is_normal(data)
            spans = oracle.contract_spans(data, case.inputs.get("unit", "bytes")) if known else None
            return None if spans is None else {"spans": spans}
        if case.op in ("encode", "count", "count_until", "encode_into"):
            return _measured(case, oracle.ids(data, profile))
        if "base64" in case.inputs:
            return None
        text = data.decode("utf-8")
        return {"findings": oracle.findings(text)} if case.op == "find_special" else {"ids": oracle.trusted_ids(text, profile)}

    def _in_parts(self, case: Case, profile: Literal["contract", "publisher"]) -> Json | None:
        """The ids are the publisher's for the whole; which of them a call gives, and what waits, is the contract's."""
        answer: Json = self._references(case, profile)["expect"]
        if any("error" in call for call in answer["calls"]):
            return None
        ids = [token_id for call in answer["calls"] for token_id in call["ids"]]
        want = self.oracle.ids_of_parts([part for part in case.inputs["parts"] if part != "finish"], profile)
        assert ids == want, f"{case.comment}: the publisher makes {want}, the reference {answer}"
        return answer

    def _references(self, case: Case, profile: Literal["contract", "publisher"]) -> Json:
        answer = self._reference.answer({"op": case.op, **case.inputs}, profile)
        assert "expect" in answer, f"{case.comment}: {answer}"
        return answer

    def _rendered(self, case: Case, profile: str) -> Json:
        options = json.loads(case.inputs["request"])
        messages = options.pop("messages")
        text, ids = self.oracle.prompt(messages, options)
        told = self._spelled({"findings": [], "dropped_reasoning": [], **(case.expect or {})})
        return {"expect": {"input_ids": ids[profile], "text": text, **told}}

    def _assembled(self, case: Case, profile: Literal["contract", "publisher"]) -> Json:
        answer = self._references(case, profile)
        _, ids = self.oracle.prompt(*composed(json.loads(case.inputs["request"])))
        assert answer["expect"]["input_ids"] == ids[profile], f"{case.comment}: the publisher makes {ids[profile]}, the reference {answer}"
        told = self._spelled({"escapes": [], "findings": [], "dropped_reasoning": [], **(case.expect or {})})
        return {"expect": {**answer["expect"], **told}}

    def _given_up(self, case: Case, profile: Literal["contract", "publisher"]) -> Answer:
        """The account is the reference's; the ids of what it leaves, where something is left, are the publisher's."""
        answer = self._reference.answer({"op": case.op, **case.inputs}, profile)
        assert answer.get("error", {"code": "budget_exceeded"})["code"] == "budget_exceeded", f"{case.comment}: {answer}"
        request = json.loads(case.inputs["request"])
        if "error" in answer or (request.get("options") or {}).get("preserve_thinking"):
            return "contract", answer
        steps = answer["expect"]["ledger"]["steps"]
        _, ids = self.oracle.prompt(*composed(request, steps))
        assert answer["expect"]["input_ids"] == ids[profile], f"{case.comment}: the publisher makes {ids[profile]}, the reference {answer}"
        return "publisher", answer

    def _spelled(self, fields: Any) -> Json:  # noqa: ANN401  (a mapping of a table)
        """Findings of a row are ``(source, offset, text)``; their id follows from the text."""
        findings = fields.get("findings")
        if not findings or isinstance(findings[0], dict):
            return dict(fields)
        ids = self.oracle.special
        spelled = [{"source": source, "offset": offset, "id": ids[text], "text": text} for source, offset, text in findings]
        return {**fields, "findings": spelled}


def _measured(case: Case, ids: list[int]) -> Json:
    """What follows from the ids of a text."""
    count = len(ids)
    if case.op == "count":
        return {"count": count}
    if case.op == "count_until":
        return {"count": count if count <= case.inputs["limit"] else None}
    if case.op == "encode_into":
        return {"count": count, "out": [*ids, *[None] * (case.inputs["room"] - count)]}
    return {"ids": ids}
