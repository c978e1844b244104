chatgpt

ChatGPT | chatgpt:6925-gulls | 'Gulls' | 1765672200000
turn 0 after -1 at 1765672201000, gpt-5-2
  asked 'How many gulls?'
  text 'Two.'
  answered (stop), 0 messages kept, usage None/None/None
turn 1 after -1 at 1765672201000, gpt-5-2-thinking
  asked 'How many gulls?'
  reasoning '**Counting**\n\nI count them with code.'
  tool_call python 'len(gulls)' -> '3'
  text 'Three gulls.'
  answered (stop), 0 messages kept, usage None/None/None
turn 2 after 1 at 1765672220000, gpt-5-2-thinking
  asked 'Sure?'
  reasoning '**Checking**\n\nOnce more.' 2000 ms
  text 'Yes.'
  answered (stop), 0 messages kept, usage None/None/None
unread: 1 x entry without a conversation (line 395)
unread: 1 x field 'newfangled' of a message (line 2)
unread: 1 x part of type 'image_asset_pointer' (line 2)
