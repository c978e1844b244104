"""The log database of `llm`, in both generations of its tables."""

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.importers.outline import outline_of_file

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)

RESPONSE_TABLES = """
CREATE TABLE conversations (id TEXT PRIMARY KEY, name TEXT, model TEXT);
CREATE TABLE responses (id TEXT PRIMARY KEY, model TEXT, prompt TEXT, system TEXT, prompt_json TEXT,
  options_json TEXT, response TEXT, response_json TEXT, conversation_id TEXT, duration_ms INTEGER,
  datetime_utc TEXT, input_tokens INTEGER, output_tokens INTEGER, token_details TEXT, schema_id TEXT,
  resolved_model TEXT, reasoning TEXT);
CREATE TABLE attachments (id TEXT PRIMARY KEY, type TEXT, path TEXT, url TEXT, content BLOB);
CREATE TABLE prompt_attachments (response_id TEXT, attachment_id TEXT, "order" INTEGER);
CREATE TABLE fragments (id INTEGER PRIMARY KEY, hash TEXT, content TEXT, datetime_utc TEXT, source TEXT);
CREATE TABLE prompt_fragments (response_id TEXT, fragment_id INTEGER, "order" INTEGER);
CREATE TABLE tool_calls (id INTEGER PRIMARY KEY, response_id TEXT, tool_id INTEGER, name TEXT,
  arguments TEXT, tool_call_id TEXT);
CREATE TABLE tool_results (id INTEGER PRIMARY KEY, response_id TEXT, tool_id INTEGER, name TEXT,
  output TEXT, tool_call_id TEXT, instance_id INTEGER, exception TEXT);
INSERT INTO conversations VALUES ('c1', 'Gulls', 'o4-mini');
INSERT INTO fragments VALUES (1, 'h', 'three gulls', '', '');
INSERT INTO prompt_fragments VALUES ('r1', 1, 0);
INSERT INTO attachments VALUES ('a2', 'image/png', 'x.png', NULL, NULL);
INSERT INTO prompt_attachments VALUES ('r1', 'a1', 0), ('r1', 'a2', 1);
INSERT INTO responses VALUES ('r1', 'o4-mini', 'How many?', 'Be brief.', NULL, NULL, '', NULL, 'c1', 2000,
  '2026-01-05T10:00:00+00:00', 10, 5, '{"completion_tokens_details": {"reasoning_tokens": 3}}', NULL,
  'o4-mini-2026', 'I count.');
INSERT INTO tool_calls VALUES (1, 'r1', 1, 'count', '{"a": 1}', 't1'), (2, 'r1', 1, 'count', '{}', 't2');
INSERT INTO responses VALUES ('r2', 'o4-mini', NULL, NULL, NULL, NULL, 'Three.', NULL, 'c1', 1000,
  '2026-01-05T10:00:03+00:00', 20, 2, NULL, NULL, NULL, NULL);
INSERT INTO tool_results VALUES (1, 'r2', 1, 'count', '3', 't1', NULL, NULL),
  (2, 'r2', 1, 'count', '', 't2', NULL, 'ValueError: no file');
"""

MESSAGE_TABLES = """
CREATE TABLE fragments (id INTEGER PRIMARY KEY, hash TEXT, content TEXT, datetime_utc TEXT, source TEXT);
CREATE TABLE attachments (id TEXT PRIMARY KEY, type TEXT, path TEXT, url TEXT, content BLOB);
CREATE TABLE messages (hash TEXT PRIMARY KEY, parent_hash TEXT, role TEXT, provider_metadata TEXT);
CREATE TABLE parts (id INTEGER PRIMARY KEY, message_hash TEXT, position INTEGER, type TEXT, tool_name TEXT,
  text TEXT, payload TEXT);
CREATE TABLE part_attachments (part_id INTEGER, attachment_id TEXT, "order" INTEGER);
CREATE TABLE threads (id TEXT PRIMARY KEY, name TEXT, tip_message_hash TEXT, forked_from TEXT,
  datetime_utc TEXT);
CREATE TABLE turns (id TEXT PRIMARY KEY, thread_id TEXT, parent_message_hash TEXT, tip_message_hash TEXT,
  model TEXT, resolved_model TEXT, options_json TEXT, schema_id TEXT, input_tokens INTEGER,
  output_tokens INTEGER, token_details TEXT, duration_ms INTEGER, datetime_utc TEXT, response_json TEXT);
INSERT INTO fragments VALUES (7, 'h', 'the whole file', '', '');
INSERT INTO messages VALUES ('m0', NULL, 'system', NULL), ('m1', 'm0', 'user', NULL),
  ('m2', 'm1', 'assistant', NULL), ('m3', 'm2', 'user', NULL), ('m4', 'm3', 'assistant', NULL);
INSERT INTO parts VALUES (1, 'm0', 0, 'text', NULL, 'Be brief.', NULL),
  (2, 'm1', 0, 'text', NULL, NULL, '{"text_ref": [{"literal": "See "}, {"fragment": 7}]}'),
  (3, 'm2', 0, 'reasoning', NULL, 'A tool helps.', '{"provider_metadata": {"openai": {"id": "rs_1"}}}'),
  (4, 'm2', 1, 'tool_call', 'count', NULL, '{"name": "count", "arguments": {"a": 1}, "tool_call_id": "t1"}'),
  (5, 'm3', 0, 'tool_result', 'count', NULL, '{"name": "count", "output": "3", "tool_call_id": "t1"}'),
  (6, 'm4', 0, 'text', NULL, 'Three.', NULL), (7, 'm1', 1, 'attachment', NULL, NULL, '{}');
INSERT INTO part_attachments VALUES (7, 'a1', 0);
INSERT INTO threads VALUES ('th1', 'Gulls', 'm4', NULL, '2026-01-05T10:00:00+00:00');
INSERT INTO turns VALUES ('01A', 'th1', 'm1', 'm2', 'gpt-5.5', NULL, NULL, NULL, 10, 5, NULL, 900,
  '2026-01-05T10:00:01+00:00', NULL),
  ('01B', 'th1', 'm3', 'm4', 'gpt-5.5', NULL, NULL, NULL, 20, 2, NULL, 900,
  '2026-01-05T10:00:03+00:00', NULL);
"""


def database(path: Path, script: str) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
        connection.execute("INSERT INTO attachments VALUES ('a1', 'image/png', NULL, NULL, ?)", (PNG,))
        connection.commit()
    return path


def test_responses_become_turns_with_thoughts_calls_and_results(tmp_path: Path) -> None:
    assert (
        outline_of_file(database(tmp_path / "logs.db", RESPONSE_TABLES))
        == """llm

llm | llm:c1 | 'Gulls' | 1767607200000
turn 0 after -1 at 1767607200000, o4-mini
  asked 'three gulls\\n\\nHow many?' + 1 image
  reasoning 'I count.'
  tool_call count '{"a": 1}' -> '3'
  tool_call count '{}' -> failed 'ValueError: no file'
  text 'Three.'
  answered (stop), 0 messages kept, usage 30/7/None
unread: 1 x attachment that is only a path or an address (line 1)
unread: 1 x system prompt (line 1)
"""
    )


def test_chains_of_messages_become_turns(tmp_path: Path) -> None:
    assert (
        outline_of_file(database(tmp_path / "logs.db", MESSAGE_TABLES))
        == """llm

llm | llm:th1 | 'Gulls' | 1767607200000
turn 0 after -1 at 1767607201000, gpt-5.5
  asked 'See the whole file' + 1 image
  reasoning 'A tool helps.'
  tool_call count '{"a":1}' -> '3'
  text 'Three.'
  answered (stop), 0 messages kept, usage 30/7/None
unread: 1 x provider's own data of a part: it is not sent back (line 1)
unread: 1 x system prompt (line 1)
"""
    )


def test_database_is_not_changed_and_needs_no_write_access(tmp_path: Path) -> None:
    path = database(tmp_path / "logs.db", RESPONSE_TABLES)
    before = path.read_bytes()
    path.chmod(0o400)
    outline_of_file(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["logs.db"]
