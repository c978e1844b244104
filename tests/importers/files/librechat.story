librechat

LibreChat | librechat:lc-1 | 'Owls' | 1770019200000
turn 0 after -1 at 1770019200000, claude-sonnet-4-5
  asked 'Do owls sleep?'
  reasoning 'By day.'
  tool_call lookup '{"bird":"owl"}' -> 'nocturnal'
  text 'By day, mostly.'
  answered (stop), 0 messages kept, usage None/None/None
turn 1 after 0 at 1770019200000, claude-sonnet-4-5
  asked 'All of them?'
  failed (failed), 0 messages kept, usage None/None/None
turn 2 after -1 at 1770019200000, claude-sonnet-4-5
  asked 'Do owls sleep?'
  reasoning 'Short answer.'
  text 'Yes.'
  answered (stop), 0 messages kept, usage None/None/None
unread: 1 x field 'mood' of a message (line 1)
