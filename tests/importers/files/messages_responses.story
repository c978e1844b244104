messages

Messages | messages:resp-1 | '' | None
turn 0 after -1 at None, o4-mini
  asked 'Sum?'
  reasoning 'Add.' encrypted of openai_responses o4-mini
  tool_call add '{"a":1}' -> '2'
  text 'Two.'
  answered (completed), 2 messages kept, usage None/None/None
