claude_code

Claude Code | claude_code:5f1c2f60-0000-4000-8000-000000000001 | 'Gulls in north and south' | 1767607200000
turn 0 after -1 at 1767607201000, claude-opus-4-5
  asked 'Count the gulls in both files.'
  reasoning 'Two files. I read both at once.' signature of anthropic_messages claude-opus-4-5
  text 'I read both files.'
  tool_call Read '{"file_path":"north.txt"}' -> '3 gulls'
  tool_call Read '{"file_path":"south.txt"}' -> failed 'No such file'
  reasoning '' redacted of anthropic_messages claude-opus-4-5
  text 'Three in the north; the south has no file.'
  answered (end_turn), 2 messages kept, usage 2208/92/None
turn 1 after 0 at 1767607220000, claude-opus-4-5
  asked 'Try it again.'
  text 'There is still no file.'
  answered (end_turn), 1 messages kept, usage 1104/9/None
turn 2 after 0 at 1767607230000, claude-opus-4-5
  asked 'Look in the east instead.'
  text 'Five in the east.'
  answered (end_turn), 1 messages kept, usage 1104/7/None

Claude Code | claude_code:5f1c2f60-0000-4000-8000-000000000001/a9f in claude_code:5f1c2f60-0000-4000-8000-000000000001 | 'Agent: Search the east folder.' | 1767607232000
turn 0 after -1 at 1767607232000, claude-opus-4-5
  asked 'Search the east folder.'
  reasoning 'Only one file there.' signature of anthropic_messages claude-opus-4-5
  text 'east.txt: five gulls.'
  answered (end_turn), 1 messages kept, usage 1104/6/None
unread: 1 x line of type 'hologram' (line 21)
unread: 1 x local command of Claude Code (line 2)
