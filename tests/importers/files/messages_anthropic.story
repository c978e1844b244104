messages

Messages | messages:034a5d76d71a1d8075d8550f40cc19da | '' | None
turn 0 after -1 at None, no model
  asked 'Name it.'
  reasoning 'Easy.' signature of anthropic_messages 
  tool_call see '{}' -> 'a gull'
  reasoning_only (unknown), 1 messages kept, usage None/None/None
turn 1 after 0 at None, no model
  asked 'Quickly.'
  text 'A gull.'
  answered (unknown), 1 messages kept, usage None/None/None
