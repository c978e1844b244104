messages

Messages | messages:4f68b9c0bb364d23bca97c763ca8bce1 | '' | None
turn 0 after -1 at None, deepseek-reasoner
  asked 'Name it.' + 1 image
  reasoning 'I need a tool.'
  tool_call see '{}' -> 'a gull'
  reasoning 'Clear.'
  text 'A gull.'
  answered (stop), 2 messages kept, usage None/None/None
unread: 1 x image that is not in the file (line 1)
unread: 1 x system prompt (line 1)
