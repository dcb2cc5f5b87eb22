"""What is given up where a request does not fit (contract/prompt.md, P-50, P-60 to P-81)."""

from __future__ import annotations

from typing import Any

from tools.vector_cases.case import Case, Group, as_json
from tools.vector_cases.conversation import assistant, call, tool, user
from tools.vector_cases.prompts import EXAMPLE, ask, fact, passage

__all__ = ["FLAGS", "groups"]

FLAGS = {
    "ladder": "one request under smaller and smaller budgets: each step of it is the last one somewhere",
    "ties": "equal scores, priorities and lengths: ids, names and places decide, not the order of the request",
    "cut": "where a text is cut: tokens, scalar values, escapes, ends of lines and of sentences",
    "headroom": "turns go in blocks",
    "refused": "what no step removes does not fit",
    "preset": "floors by name",
    "joint": "counts of parts are not additive",
    "thinking": "reasoning of earlier turns stays (M-58)",
    "normalization": "the profiles differ",
    "cache": "what stays of a cache, and which part broke it",
}

FLOORS = {"keep_turns": 2, "keep_chunks": 2, "active_turns": 1, "chunk_limit": 24, "tool_limit": 16, "sweep": "allow", "headroom": 0}
LONG = "Opening hours are ten to six. On Sundays the desk is closed.\nCall ahead in winter, when the ferry is late. Bring a card!"
RESULT = '{"rooms": [{"id": 1, "free": true}, {"id": 2, "free": false}, {"id": 3, "free": true}], "currency": "EUR"}'


def floors(**fields: object) -> dict[str, Any]:
    """Floors, some of them others."""
    return {**FLOORS, **fields}


def within(tokens: int, request: dict[str, Any]) -> dict[str, Any]:
    """The request with so many tokens for its prompt."""
    return {**request, "budget": {"context": tokens, "reserve": 0}}


def case(clause: str, comment: str, request: dict[str, Any], *flags: str) -> Case:
    """A row; the reference answers it, and the publisher's programs make the ids of what is left."""
    return Case(comment, "assemble", {"request": as_json(request)}, clause, flags=flags)


def turn(number: int, *between: dict[str, Any]) -> list[dict[str, Any]]:
    """A prior turn."""
    return [user(f"Question {number}, please?"), *between, assistant(f"Answer {number}. That is all.")]


def round_of(result: str, **fields: object) -> list[dict[str, Any]]:
    """A call and its response."""
    return [assistant("", tool_calls=[call("look", {"day": 1})], **fields), tool(result)]


def rich() -> dict[str, Any]:
    """A request with something of everything."""
    return ask(
        "Be brief.",
        "Is there a free room?",
        history=[*turn(1), *turn(2, *round_of(RESULT)), *turn(3), *turn(4, *round_of("ok"))],
        steps=round_of(RESULT, reasoning_content="I look."),
        retrieved=[passage("b", LONG, 0.5), passage("a", LONG + LONG, 0.75), passage("c", "Short.", 0.5), passage("d", LONG, 0.25)],
        local_state=[fact("city", "Turku", 2), fact("clock", "09:30", 1), fact("name", "Ada", 1)],
        tools=[{"name": "look"}],
        degradation=FLOORS,
    )


def ladder() -> Group:
    """One request, from where it fits to where it is refused."""
    request = rich()
    sizes = [*range(480, 150, -10), 150, 145, 140, 130, 120, 110]
    clauses = {480: "P-62", 400: "P-63", 330: "P-64", 280: "P-66", 230: "P-68"}

    def clause(tokens: int) -> str:
        return next((clause for least, clause in clauses.items() if tokens >= least), "P-69")

    return Group("ladder", [case(clause(size), f"{size} tokens are available", within(size, request), "ladder") for size in sizes])


def passes() -> Group:
    """Each pass at its edges."""
    turns = [message for number in range(1, 6) for message in turn(number)]
    chunks = [passage(name, LONG, score) for name, score in (("a", 2), ("b", 1), ("c", 1.0), ("B", 1), ("d", 3))]
    facts = [fact("b", "x" * 9), fact("a", "x" * 9), fact("B", "x" * 9), fact("z", "y" * 9, 5)]
    old = ask(history=turns, degradation=floors(keep_turns=5, active_turns=0))
    two = [assistant("", tool_calls=[call("f", {}), call("g", {})]), tool(RESULT), tool(RESULT)]
    cases = [
        case("P-60", "without degradation nothing is given up", within(60, ask(history=turns)), "refused"),
        case("P-62", "keep_turns above what there is", within(90, ask(history=turns, degradation=floors(keep_turns=9))), "refused"),
        case("P-62", "a turn with calls goes with its responses", within(70, ask(history=[*turn(1, *two), *turn(2)], degradation=FLOORS))),
        case("P-62", "keep_turns 0", within(40, ask(history=turns, degradation=floors(keep_turns=0, active_turns=0)))),
        case("P-63", "equal scores: the higher id first", within(150, ask(retrieved=chunks, degradation=floors(keep_chunks=2))), "ties"),
        case("P-63", "the same in another order", within(150, ask(retrieved=chunks[::-1], degradation=floors(keep_chunks=2))), "ties"),
        case("P-63", "keep_chunks 0", within(30, ask(retrieved=chunks, degradation=floors(keep_chunks=0)))),
        case("P-64", "all turns in one step, and the marker", within(60, old)),
        case(
            "P-64", "nothing to take out: no step and no marker", within(70, {**old, "degradation": floors(keep_turns=5, active_turns=5)})
        ),
        case("P-65", "the marker counts turns of pass 1", within(60, {**old, "degradation": floors(keep_turns=3, active_turns=1)})),
        case("P-65", "the marker after local state", within(70, {**old, "local_state": [fact("a", "b")]})),
        case("P-65", "the marker without a policy", within(50, {**old, "policy": ""})),
        case(
            "P-66",
            "the longest first, of equal ones the higher id",
            within(130, ask(retrieved=chunks[:3], degradation=floors(keep_chunks=3))),
            "ties",
        ),
        case("P-66", "the limit of a passage itself", within(65, ask(retrieved=[passage("a", LONG, limit=16)], degradation=FLOORS))),
        case("P-66", "a limit above the common one", within(65, ask(retrieved=[passage("a", LONG, limit=99)], degradation=FLOORS))),
        case("P-66", "responses after passages", within(150, {**rich(), "history": [], "degradation": floors(keep_chunks=4)})),
        case("P-66", "equal responses: the earlier first", within(130, ask(steps=two, degradation=FLOORS)), "ties"),
        case(
            "P-66",
            "responses of history before those of steps",
            within(140, ask(history=turn(1, *two), steps=two, degradation=FLOORS)),
            "ties",
        ),
        case("P-68", "history, then passages, then facts", within(40, {**rich(), "tools": None, "steps": []})),
        case(
            "P-68",
            "facts: the lowest priority, of equal ones the higher name",
            within(45, ask(local_state=facts, degradation=FLOORS)),
            "ties",
        ),
        case("P-68", "the last fact goes with its wrapper", within(25, ask(local_state=facts, degradation=FLOORS))),
        case("P-68", "a sweep that is not allowed", within(150, {**rich(), "degradation": floors(sweep="refuse")}), "refused"),
        case("P-69", "the policy is too long", within(30, ask("Be brief. " * 9, degradation=FLOORS)), "refused"),
        case("P-69", "the user's turn is too long", within(30, ask(user_turn="Is it open? " * 9, degradation=FLOORS)), "refused"),
        case("P-69", "the user's turn is never cut", within(60, ask(user_turn=LONG, retrieved=[passage("a", LONG)], degradation=FLOORS))),
        case("P-72", "tools are too long", within(60, ask(tools=[{"name": "f"}], degradation=FLOORS)), "refused"),
        case("P-72", "parts of what is left", within(100, {**rich(), "retrieved": [], "local_state": []}), "refused"),
        case("P-50", "the reserve counts", {**rich(), "budget": {"context": 400, "reserve": 200}}),
        case("P-50", "exactly full", within(20, ask())),
        case("P-72", "one too many", within(19, ask(degradation=FLOORS)), "refused"),
        case("P-61", "conversation", within(300, {**rich(), "degradation": "conversation"}), "preset"),
        case("P-61", "retrieval", within(300, {**rich(), "degradation": "retrieval"}), "preset"),
        case("P-61", "agent", within(300, {**rich(), "degradation": "agent"}), "preset"),
        case("P-20", "reasoning of earlier turns stays", within(110, {**_thinking(), "options": {"preserve_thinking": True}}), "thinking"),
        case("P-55", "reasoning of earlier turns is left out", within(80, _thinking()), "thinking"),
        case("P-73", "a join that no sum of parts knows", within(43, _joined()), "joint"),
        case("P-73", "a passage of one token that is longer alone", within(40, _joined()), "joint"),
        case("P-46", "escapes before a cut are told, those after it are not", within(80, _escaped())),
        case("P-54", "texts of special tokens in what was given up are not told", within(50, _special())),
        case("P-63", "scores that are one float64: the ids decide", within(60, _large_scores()), "ties"),
    ]
    return Group("passes", cases)


def _large_scores() -> dict[str, Any]:
    found = [passage("a", LONG, 2**53), passage("b", LONG, 2**53 + 1)]
    return ask(retrieved=found, degradation=floors(keep_chunks=1, chunk_limit=99))


def _thinking() -> dict[str, Any]:
    said = [assistant("Yes.", reasoning_content="Let me see.\nIt is."), assistant("No.", reasoning_content="It is not, I think.")]
    return ask(history=[user("A?"), said[0], user("B?"), said[1], user("C?"), said[0]], degradation=floors(keep_turns=1))


def _joined() -> dict[str, Any]:
    return ask(user_turn="\n\nr", retrieved=[passage("a", " SqlDataAdapte"), passage("b", "r")], degradation=floors(keep_chunks=0))


def _escaped() -> dict[str, Any]:
    text = "a </evidence> b " * 4
    return ask(retrieved=[passage("a", text), passage("b", text)], local_state=[fact("x", "<local_state>")], degradation=FLOORS)


def _special() -> dict[str, Any]:
    return ask(
        history=[*turn(1), user("<|im_end|>"), assistant("b")],
        retrieved=[passage("a", "<|im_start|>")],
        degradation=floors(keep_turns=0, active_turns=0),
    )


def headroom() -> Group:
    """P-70: where passes 1 to 4 stop."""
    turns = [message for number in range(1, 13) for message in turn(number)]
    request = ask(history=turns, degradation=floors(keep_turns=0, active_turns=0))
    rows = [(210, 0), (210, 1), (210, 50), (200, 50), (190, 50), (160, 50), (150, 50), (210, 300), (20, 50), (240, 7)]
    cases = [
        case(
            "P-70",
            f"{size} tokens, headroom {room}",
            within(size, {**request, "degradation": {**request["degradation"], "headroom": room}}),
            "headroom",
        )
        for size, room in rows
    ]
    most = {**rich(), "degradation": floors(headroom=400)}
    cases += [
        case("P-70", "the target is out of reach, what is available is not", within(300, most), "headroom"),
        case("P-70", "the sweep stops at what is available", within(200, most), "headroom"),
        case("P-77", "nothing is over: the target is what is available", within(900, most), "headroom"),
        case(
            "P-70",
            "one more turn keeps the prefix",
            within(210, {**request, "history": [*turns, *turn(13)], "degradation": floors(keep_turns=0, active_turns=0, headroom=50)}),
            "headroom",
        ),
    ]
    return Group("headroom", cases)


def cuts() -> Group:
    """P-67: one passage, cut."""
    word = "lorem ipsum dolor sit amet "
    texts = [
        ("inside a line", word * 9),
        ("at the end of a line in the last tenth", "a b c d e f g h i j k l m n o p q r\ns t u v w x y z"),
        ("a line that ends at the boundary", "a b c d e f g h i j k l m n o p q r s\nt u v w x y z"),
        ("a line that ends too early", "a b c d e f\ng h i j k l m n o p q r s t u v w x y z"),
        ("a sentence that ends in the last tenth", "aa bb cc dd ee ff gg hh ii jj kk ll mm nn oo pp qq. rr ss tt uu"),
        ("a full stop inside a number is no end", "1 2 3 4 5 6 7 8 9 10 3.5 6.7 8.9 1.2 3.4"),
        ("an end of a line goes before a later sentence", "aa bb cc dd ee ff gg hh ii jj kk ll mm nn\noo. pp qq rr ss tt uu"),
        ("! and white space that is not ASCII", "aa bb cc dd ee ff gg hh ii jj kk ll mm nn oo!\u3000pp qq rr ss tt"),
        ("? and a no-break space", "aa bb cc dd ee ff gg hh ii jj kk ll mm nn oo pp?\u00a0qq rr ss tt"),
        ("U+001F is no white space", "aa bb cc dd ee ff gg hh ii jj kk ll mm nn oo.\u001fpp qq rr ss tt"),
        ("full-width ends need none", "的是不我一有在人这中大来上国个到说们为子和你。地出道也时年得就那要下以生会"),
        ("full-width exclamation", "我们今天去看电影吧！你觉得怎么样呢？如果不行就明天再说吧好不好呢你说呢"),
        ("tokens that split a scalar value", "🫠🫡🫢🫣🫤🫥🫦🫧🫨🫩" * 3),
        ("escapes at the boundary", "<evidence>" * 12),
        ("escapes of another case", "a</Local_State>" * 9),
        ("what was given as &lt; is no escape", "&lt;&lt;&lt;&lt;&lt;" * 9),
        ("one token that is too long for nothing", "x" * 90),
        ("white space alone", " \n" * 30),
        ("newlines alone", "\n" * 400),
        ("U+000D U+000A", "ab cd ef\r\n" * 12),
        ("an end of a line at the very beginning", "\n" + "y" * 200),
        ("ends of sentences everywhere", "a. " * 40),
        ("combining marks", "e\u0301a\u0323\u0301 " * 12),
        ("marks that change places", "x\u0301\u0323\u0301\u0323 " * 12),
        ("a composed scalar value at the boundary", "\u1100\u1161\u11a8" * 12),
        ("special tokens' text", "<|im_end|> " * 8),
        ("a full stop at the end of what stays", "one two three four five six seven eight nine ten eleven twelve. thirteen fourteen"),
        ("JSON", RESULT * 2),
    ]
    cases = []
    for comment, text in texts:
        flags = ("cut", "normalization") if any(char in text for char in "\u0301\u1100") else ("cut",)
        request = ask(retrieved=[passage("a", text)], degradation=floors(keep_chunks=1, chunk_limit=20, sweep="refuse"))
        cases.append(case("P-67", comment, within(61, request), *flags))
    for limit in (16, 17, 18, 31, 32):
        request = ask(retrieved=[passage("a", LONG)], degradation=floors(keep_chunks=1, chunk_limit=limit, sweep="refuse"))
        cases.append(case("P-67", f"limit {limit}", within(65, request), "cut"))
    for comment, text in texts[:6]:
        request = ask(steps=round_of(text), degradation=floors(sweep="refuse"))
        cases.append(case("P-67", f"a response: {comment}", within(70, request), "cut"))
    return Group("cut", cases)


def deltas() -> Group:
    """P-80, P-81: the prompt of one request against that of another."""
    request = {**rich(), "budget": {"context": 4096, "reserve": 0}}
    other_clock = {**request, "local_state": [fact("city", "Turku", 2), fact("clock", "09:31", 1), fact("name", "Ada", 1)]}
    longer = {**request, "user_turn": request["user_turn"] + " With a view?"}
    rows = [
        ("the same request", request, request),
        ("another clock", other_clock, request),
        ("another policy", {**request, "policy": "Be kind."}, request),
        ("another tool", {**request, "tools": [{"name": "find"}]}, request),
        ("one turn less", {**request, "history": request["history"][2:]}, request),
        ("one turn more", {**request, "history": [*request["history"], *turn(5)]}, request),
        ("another answer", {**request, "history": [*request["history"][:-1], assistant("Other.")]}, request),
        ("another passage", {**request, "retrieved": request["retrieved"][1:]}, request),
        ("a longer turn of the user", longer, request),
        ("a shorter turn of the user", request, longer),
        ("steps", {**request, "steps": [*request["steps"], *round_of("no")]}, request),
        ("no steps", {**request, "steps": []}, request),
        ("thinking off", {**request, "options": {"enable_thinking": False}}, request),
        ("the marker", within(330, request), request),
        ("a cut", within(270, {**request, "history": []}), {**request, "history": []}),
        ("the marker's number", within(210, request), within(222, request)),
        ("nothing cached", request, None),
        ("the worked example", EXAMPLE, {**EXAMPLE, "user_turn": "Is it closed?"}),
    ]
    cases = []
    for comment, now, before in rows:
        inputs = {"request": as_json(now), "before": None if before is None else as_json(before)}
        cases.append(Case(comment, "prompt_delta", inputs, "P-81" if before else "P-80", flags=("cache",)))
    return Group("delta", cases)


def ledger() -> Group:
    """P-71 to P-79: what is told."""
    twice = {**rich(), "history": [*turn(1), *turn(2)], "retrieved": [], "tools": None}
    rows = [
        ("P-22", "degradation that is null", within(300, {**twice, "degradation": None})),
        ("P-71", "less room: one step more than the next", within(150, twice)),
        ("P-71", "more room: its steps are the first of those", within(175, twice)),
        ("P-74", "parts before and after, and where they begin", within(140, twice)),
        (
            "P-75",
            "a step of each kind that bytes are told of",
            within(230, {**rich(), "history": turn(1), "tools": None, "degradation": floors(keep_turns=0, active_turns=0)}),
        ),
        ("P-76", "the digest does not see the order of facts", within(300, {**twice, "local_state": twice["local_state"][::-1]})),
        ("P-78", "characters that JSON escapes are in no name", within(300, {**twice, "user_turn": '"\\ <|im_end|>'})),
        ("P-79", "literals have the place of their item", within(300, {**twice, "retrieved": [passage("a", "t")]})),
    ]
    return Group("ledger", [case(*row) for row in rows])


def groups() -> list[Group]:
    """All groups."""
    return [ladder(), passes(), headroom(), cuts(), deltas(), ledger()]
