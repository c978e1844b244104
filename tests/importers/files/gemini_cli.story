gemini_cli

Gemini CLI | gemini_cli:3c0e5a22-0000-4000-8000-000000000002 | 'Gulls in north and south' | 1767607200000
turn 0 after -1 at 1767607201000, gemini-3.8-flash
  asked 'Count the gulls in both files.'
  reasoning '**Planning**\nTwo files. I read both at once.'
  text 'I read both files.'
  tool_call read_file '{"path":"north.txt"}' -> '3 gulls'
  tool_call read_file '{"path":"south.txt"}' -> failed 'No such file'
  text 'Three in the north; the south has no file.'
  answered (stop), 0 messages kept, usage 2250/63/12
turn 1 after 0 at 1767607220000, gemini-3.8-flash
  asked 'Try it again.'
  text 'There is still no file.'
  answered (stop), 0 messages kept, usage None/None/None
turn 2 after 0 at 1767607230000, gemini-3.8-flash
  asked 'Look in the east instead.'
  reasoning 'East.'
  text 'Five in the east.'
  answered (stop), 0 messages kept, usage None/None/None
unread: 1 x line of an unknown kind (line 14)
unread: 1 x message that Gemini CLI wrote itself (line 12)
unread: 1 x reply of which nothing was understood (line 13)
