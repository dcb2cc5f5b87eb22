"""Well-formed text: pieces, merges, normalisation (contract/tokenizer.md, T-1 to T-6)."""

from __future__ import annotations

from tools.vector_cases.case import Case, Group, text_input

__all__ = ["FLAGS", "GROUPS"]

FLAGS = {
    "contraction": "the first alternative of the pattern wins where a later one would match more, and folds by Unicode",
    "white_space": "exactly 25 scalar values are white space, and a run gives its last one back where text follows",
    "newline": "newlines end pieces in three of the alternatives",
    "unicode_version": "letters and numbers are those of Unicode 16.0, composition that of tokenizers 0.23: a host's own tables are others",
    "normalization": "text that NFC changes: the profiles differ, or show that nothing else does",
    "invisible": "scalar values that nobody sees and that must survive",
    "surrogates": "host strings that are not well formed (decisions D4)",
    "long": "runs in which an implementation of worse than n log n time, or with a window, shows",
    "joint": "text that has other ids in two halves than in one",
    "field_case": "a symptom from public bug reports of other engines",
}

# The 25 White_Space scalar values.
WHITE_SPACE = [*range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000]


def group(name: str, clause: str, rows: list[tuple[str, str]], *flags: str) -> Group:
    """Rows of a comment and a text to encode."""
    return Group(name, [Case(comment, "encode", text_input(text), clause, flags=flags) for comment, text in rows])


def words() -> Group:
    """Letters, digits and punctuation."""
    rows = [
        ("nothing", ""),
        ("one letter", "a"),
        ("two words", "Hello, world"),
        ("the space goes with the letters after it", " a b c"),
        ("letters after punctuation go with it", "(foo"),
        ("only one scalar value goes with the letters", "((foo"),
        ("letters stop at a digit", "abc123def"),
        ("each digit is a piece", "12345"),
        ("a space does not go with a digit", " 1 22"),
        ("decimal point and grouping", "1,234.50"),
        ("punctuation takes the space before it and newlines after it", " ->\n\n\nx"),
        ("punctuation does not take a second space", "  ->"),
        ("punctuation does not take a tab", "\t->"),
        ("punctuation run", "!!!???...;;;"),
        ("brackets and line end", "(x):\n"),
        ("code", 'def f(x):\n    return {"a": [x, 1.5e-3]}  # done\n'),
        ("path and flags", "/usr/bin/env -S python3 --x=1"),
        ("URL", "https://example.org/a?b=c&d=%20#e"),
        ("e-mail", "a.b+c@example.org"),
        ("camel case and underscore", "parseHTTPResponse_v2 snake_case"),
        ("symbols of other planes", "\u2192 \u2211 \u221e \U0001f980"),
        ("apostrophe of typography is no contraction", "don\u2019t"),
        ("backslash and n are two characters", "Hello\\nWorld"),
        ("Latin, Greek, Cyrillic, one piece each", "latin\u03b5\u03bb\u03bb\u0440\u0443\u0441"),
        ("Han", "\u4f60\u597d\uff0c\u4e16\u754c\u3002"),
        ("kana and long vowel mark", "\u3053\u3093\u306b\u3061\u306f\u30fc\u30c6\u30b9\u30c8"),
        ("Hangul", "\uc548\ub155\ud558\uc138\uc694"),
        ("Thai, whose vowels are marks", "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35\u0e04\u0e23\u0e31\u0e1a"),
        ("Devanagari: marks are no letters", "\u0928\u092e\u0938\u094d\u0924\u0947"),
        ("Hebrew with points", "\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd"),
        ("Arabic with marks and its digits", "\u0645\u064e\u0631\u0652\u062d\u064e\u0628\u0627 \u0661\u0662\u0663"),
        ("Arabic and Latin in one line", "abc \u0627\u0628\u062c def"),
        ("letters of plane 1", "\U00010330\U00010331\U0001d4d0\U0001d4d1"),
        ("letters of plane 2", "\U00020000\U0002a6df"),
        ("noncharacters and the last scalar value", "\ufffe\uffff\U0010ffff"),
        ("private use", "\ue000\U000f0000\U00100000"),
        ("a modifier letter is a letter", "x\u02b0\u02c8y"),
        ("a letterlike number is a number", "\u2160\u2161\u216b \u3007"),
    ]
    return group("words", "T-4", rows)


def numbers() -> Group:
    """Numbers in scripts: every general category N is a piece of its own."""
    rows = [
        ("Arabic-Indic digits", "\u0660\u0661\u0669"),
        ("Devanagari digits", "\u0966\u0967\u096f"),
        ("full-width digits", "\uff10\uff11\uff19"),
        ("superscripts are No", "x\u00b2\u00b3\u00b9"),
        ("fractions", "1\u00bd \u2153"),
        ("Roman numerals are Nl", "\u2167\u2180"),
        ("circled numbers", "\u2460\u2473\u24ff"),
        ("ideographic zero is Nl, ideographs are letters", "\u3007\u4e00\u4e8c"),
        ("mathematical digits of plane 1", "\U0001d7ce\U0001d7ff"),
        ("segmented digits, Unicode 13", "\U0001fbf0\U0001fbf9"),
        ("Kawi digits, Unicode 15", "\U00011f50\U00011f59"),
        ("Kirat Rai digits, Unicode 16", "\U00016d70\U00016d79"),
        ("Cuneiform numbers", "\U00012400\U00012401"),
        ("digits of two scripts", "1\u0661\u0967\uff11"),
    ]
    return group("numbers", "T-4", rows, "unicode_version")


def unicode_versions() -> Group:
    """Letters that older tables do not have."""
    rows = [
        ("Garay letters, Unicode 16", "\U00010d4a\U00010d70"),
        ("Todhri letters, Unicode 16", "\U000105c0\U000105f3"),
        ("Latin letters of Unicode 16", "\ua7cb\ua7da\ua7dc"),
        ("CJK extension I, Unicode 15.1", "\U0002ebf0\U0002ee5d"),
        ("CJK extension H, Unicode 15", "\U00031350\U000323af"),
        ("Vithkuqi letters, Unicode 14", "\U00010570\U000105bc"),
        ("letters of Unicode 17 are no letters yet", "a\ua7cea\U000323b0a"),
        ("an unassigned scalar value is neither letter, number nor white space", "a\u0378b1\u03792"),
        ("U+180E is no white space since Unicode 6.3", "a\u180e b"),
    ]
    return group("unicode", "T-4", rows, "unicode_version")


def contractions() -> Group:
    """``(?i:'s|'t|'re|'ve|'m|'ll|'d)`` before everything else."""
    rows = [(f"contraction {word!r} after a letter", f"I{word}") for word in ("'s", "'t", "'re", "'ve", "'m", "'ll", "'d")]
    rows += [(f"contraction {word!r} in capitals", f"I{word}") for word in ("'S", "'T", "'RE", "'VE", "'M", "'LL", "'D")]
    rows += [
        ("mixed case", "we'Re they'vE she'lL"),
        ("U+017F folds to s", "it'\u017f"),
        ("U+017F inside a word is a letter", "\u017ftop"),
        ("U+212A KELVIN SIGN folds to k, which is in no contraction", "'\u212a"),
        ("the contraction wins over more letters", "'stuff"),
        ("'re wins over the letters after it", "'really"),
        ("'r alone is no contraction", "'r"),
        ("'l alone is no contraction", "'l"),
        ("'v and a letter that is not e", "'vx"),
        ("the first alternative is tried at each piece, so a word of t is cut", "'tis 'twas"),
        ("a contraction takes no space", "don 't"),
        ("two apostrophes: the first takes nothing, then a contraction", "''s"),
        ("contraction after a digit", "1980's"),
        ("contraction after punctuation takes the apostrophe from it", ")'s"),
        ("punctuation run ends before no contraction: it is greedy", "...'s"),
        ("contraction after a newline", "\n'm"),
        ("contraction of nothing at the start", "'d"),
        ("contraction twice", "I'd've"),
        ("full-width apostrophe", "I\uff07m"),
        ("dotless i and long s do not make 'ſt special", "'\u017ft"),
        ("capitals give other tokens", "DON'T don't Don't"),
    ]
    return group("contractions", "T-4", rows, "contraction")


def white_space() -> Group:
    """Each of the 25, and what looks like them."""
    rows = [
        (f"U+{code:04X} between letters, doubled before a letter, and at the end", f"a{chr(code)}b{chr(code) * 2}c{chr(code)}")
        for code in WHITE_SPACE
    ]
    rows += [(f"U+{code:04X} is no white space", f"a{chr(code)}b{chr(code) * 2}c{chr(code)}") for code in (0x1C, 0x1D, 0x1E, 0x1F)]
    rows += [
        (f"U+{code:04X} looks like a space and is none", f"a{chr(code)}b {chr(code)} c")
        for code in (0x200B, 0x2060, 0xFEFF, 0x180E, 0x2800, 0x3164)
    ]
    rows += [(f"{count} spaces, then a letter", " " * count + "x") for count in (1, 2, 3, 4, 5, 8, 16, 17)]
    rows += [(f"{count} spaces at the end", "x" + " " * count) for count in (1, 2, 3, 8)]
    rows += [
        ("only spaces", "   "),
        ("spaces before a digit stay together: a digit takes none", "   1"),
        ("spaces before punctuation give one back", "   ->"),
        ("tabs before a letter give one back, which goes with the letter", "\t\t\tx"),
        ("mixed white space gives its last one back", " \t \u00a0x"),
        ("no-break space goes with the letters after it", "\u00a0x"),
        ("ideographic spaces", "\u3000\u3000\u4e2d"),
        ("the look-ahead sees a mark: a mark is no white space", "  \u0301x"),
        ("the look-ahead sees U+001C", "  \x1cx"),
    ]
    return group("spaces", "T-4", rows, "white_space")


def newlines() -> Group:
    """Runs of white space with newlines in them."""
    rows = [
        ("line feed", "a\nb"),
        ("carriage return", "a\rb"),
        ("CR LF", "a\r\nb"),
        ("LF CR", "a\n\rb"),
        ("blank lines", "a\n\n\nb"),
        ("CR LF blank lines", "a\r\n\r\nb"),
        ("spaces before a newline are in its piece", "a  \nb"),
        ("spaces after a newline are not", "a\n  b"),
        ("spaces between newlines", "a\n  \n  b"),
        ("tab between newlines", "a\n\t\n\tb"),
        ("newline, spaces, end", "a\n  "),
        ("only newlines", "\n\n\n\n"),
        ("only CR", "\r\r"),
        ("CR, LF and CR LF mixed", "\r\n\n\r\r\n"),
        ("punctuation takes newlines, then spaces stand alone", "!\n\n  x"),
        ("punctuation takes CR LF", "?!\r\n\r\nx"),
        ("punctuation, space, newline: not taken", "! \n"),
        ("newline then contraction", "x\n's"),
        ("newline then punctuation", "\n->\n"),
        ("U+0085 is white space and no newline of the pattern", "a\u0085\u0085b"),
        ("U+2028 is white space and no newline of the pattern", "a\u2028\u2029b"),
        ("vertical tab and form feed", "a\x0b\x0cb\n\x0b"),
        ("letters do not take a newline before them", "\nabc"),
        ("digits around newlines", "1\n2\r\n3"),
    ]
    return group("newlines", "T-4", rows, "newline")


def invisible() -> Group:
    """NUL, joiners, direction marks, variation selectors."""
    rows = [
        ("NUL alone", "\x00"),
        ("NUL inside text", "a\x00b"),
        ("NUL at the end", "abc\x00"),
        ("all C0 controls", "".join(map(chr, range(0x20)))),
        ("DEL and C1 controls", "".join(map(chr, range(0x7F, 0xA0)))),
        ("byte-order mark at the start", "\ufeffabc"),
        ("byte-order mark inside", "abc\ufeffdef"),
        ("soft hyphen", "co\u00adop"),
        ("zero-width space between letters", "a\u200bb"),
        ("joiner and non-joiner", "a\u200db\u200cc"),
        ("left-to-right and right-to-left marks", "a\u200eb\u200fc"),
        ("right-to-left override", "abc\u202edef\u202c"),
        ("isolates", "\u2066a\u2069\u2067b\u2069\u2068c\u2069"),
        ("family of four, joined", "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"),
        ("rainbow flag: variation selector and joiner", "\U0001f3f3\ufe0f\u200d\U0001f308"),
        ("skin tone", "\U0001f44d\U0001f3fd"),
        ("regional indicators", "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7"),
        ("keycap", "1\ufe0f\u20e3"),
        ("tag sequence", "\U0001f3f4\U000e0067\U000e0062\U000e007f"),
        ("variation selectors of ideographs", "\u845b\U000e0100\u845b\U000e0101"),
        ("interlinear annotation and object replacement", "\ufff9a\ufffab\ufffb\ufffc"),
        ("replacement character", "\ufffd\ufffd"),
        ("word joiner and invisible operators", "a\u2060b\u2061c\u2062d\u2063"),
    ]
    return group("invisible", "T-2", rows, "invisible")


def marks() -> Group:
    """Combining sequences; what NFC does to them is in the group ``nfc``."""
    rows = [
        ("a mark alone", "\u0301"),
        ("a mark is neither letter nor number: it ends a word", "a\u0301b"),
        ("a mark after a space goes with the letters after it", " \u0301b"),
        ("two marks are punctuation-like", "\u0301\u0302"),
        ("thirty marks on one letter", "Z" + "\u0300\u0323\u0338" * 10),
        ("enclosing mark", "a\u20dd"),
        ("spacing mark", "\u0915\u093e"),
        ("mark after a newline", "\n\u0301x"),
        ("mark after a digit", "1\u0301"),
    ]
    return group("marks", "T-4", rows, "normalization")


def host_strings() -> Group:
    """UTF-16 that is not well formed; also strings that are, given as code units."""
    rows = [
        ("high surrogate alone", "\ud83d"),
        ("low surrogate alone", "\ude00"),
        ("high surrogate between letters", "a\ud83db"),
        ("low surrogate between letters", "a\ude00b"),
        ("two high surrogates are two U+FFFD", "\ud83d\ud83d"),
        ("low before high: two U+FFFD", "\ude00\ud83d"),
        ("high, then a pair", "\ud83d\ud83d\ude00"),
        ("pair, then low", "\ud83d\ude00\ude00"),
        ("a pair is one scalar value, not two U+FFFD", "\ud83d\ude00"),
        ("the first and the last pair", "\ud800\udc00\udbff\udfff"),
        ("the outermost surrogates alone", "\ud800x\udbffy\udc00z\udfff"),
        ("surrogate inside the text of a special token", "<|im_\ud800start|>"),
        ("surrogate after a space", " \ud83d x"),
        ("surrogate at the end after NUL", "\x00\udfff"),
    ]
    return group("surrogates", "T-2", rows, "surrogates")


def long_runs() -> Group:
    """Long pieces: all give few distinct merges again and again."""
    rows = [
        ("1,000 times a", "a" * 1000),
        ("999 times ab and a", "ab" * 999 + "a"),
        ("1,000 spaces, then a letter", " " * 1000 + "b"),
        ("1,000 spaces at the end", "b" + " " * 1000),
        ("500 newlines", "\n" * 500),
        ("500 times CR LF", "\r\n" * 500),
        ("1,000 times =", "=" * 1000),
        ("700 digits", "1234567" * 100),
        ("600 marks on one letter", "a" + "\u0301" * 600),
        ("400 emoji", "\U0001f600" * 400),
        ("500 letters of Han", "\u4e2d" * 500),
        ("alternating spaces and tabs", " \t" * 300 + "x"),
        ("longest vocabulary entry is 128 bytes of blanks; one more", " " * 129),
        ("1,000 apostrophes", "'" * 1000),
        ("a long word that no entry has", "Donaudampfschifffahrtsgesellschaftskapit\u00e4n" * 8),
    ]
    return group("long", "T-5", rows, "long")


def joins() -> Group:
    """Pairs of a text and its beginning: the ids of the beginning are no prefix of the ids of the text."""
    rows = [
        ("five tokens", " SqlDataAdapte"),
        ("one token", " SqlDataAdapter"),
        ("header and text that begins with a newline", "user\n\nhello"),
        ("newline alone", "user\n"),
        ("letters before r", "foobar foobarbaz"),
        ("word of two tokens", "Hello"),
        ("space, then more spaces", "x "),
        ("two spaces, then a letter", "x  y"),
        ("full stop", "Done."),
        ("full stop and newline", "Done.\n"),
        ("full stop and two newlines", "Done.\n\n"),
        ("the piece before the last changes", "x\n "),
        ("by one more newline", "x\n \n"),
        ("apostrophe", "we'"),
        ("apostrophe and l", "we'l"),
        ("apostrophe and ll", "we'll"),
        ("equal ranks: the leftmost merges first", "aaa aaaa aaaaa"),
        ("merge that needs a lower rank inside", "abcabcabc"),
    ]
    return group("joins", "T-5", rows, "joint")


def whole_pieces() -> Group:
    """Entries of the vocabulary that do not encode to themselves, and some that do."""
    rows = [
        ("longest entry made of letters and marks of other scripts", "\u0e40\u0e1b\u0e47\u0e19"),
        ("an entry that the pre-tokenizer cuts: digits", "\u0661\u0662"),
        ("letters after a mark", "\u0301a"),
        ("an entry of two lines", ".\n\n\n\n"),
        ("an entry with a space and a newline", " \n\n"),
        ("entry of 16 spaces", " " * 16),
        ("markup", "</span></div>\n"),
        ("code", ");\r\n\r\n\r\n"),
    ]
    return group("entries", "T-6", rows)


def field_cases() -> Group:
    """Reports about other engines, in our words."""
    rows = [
        ("wrong pre-tokenizer: symbols split one by one", "->"),
        ("wrong pre-tokenizer: brackets and line end", "(x):\n"),
        ("wrong pre-tokenizer: digits in threes", "12345"),
        ("inline flag of the pattern is not understood by a host's regex", "foobar"),
        ("contraction lost", "don't"),
        ("contraction in capitals lost", "DON'T"),
        ("a line feed and the two characters backslash n confused", "Hello\nWorld"),
        ("backslash n is text", "Hello\\nWorld"),
    ]
    return group("reports", "T-4", rows, "field_case")


def zero_bytes() -> Group:
    """Pieces of U+0000, which memory that was never written looks like: an engine took 16 of them for a piece that it knew."""
    rows = [
        (f"{count} times U+0000, after a piece of as many letters", "z" * count + "\0" * count + "\n" + "\0" * count)
        for count in range(1, 34)
    ]
    return group("zero-bytes", "T-4", rows, "long")


GROUPS = [
    *(words(), numbers(), unicode_versions(), contractions(), white_space(), newlines(), invisible(), marks(), host_strings()),
    *(long_runs(), joins(), whole_pieces(), field_cases(), zero_bytes()),
]
