open_webui

Open WebUI | open_webui:chat-1 | 'Waders' | 1767600000000
turn 0 after -1 at 1767600000000, qwen3:8b
  asked 'Which bird is this?' + 1 image
  reasoning 'A long bill.\nI look it up & see.' 8000 ms
  tool_call lookup '{"bill": "long"}' -> 'curlew'
  text 'A curlew.'
  answered (stop), 0 messages kept, usage 30/12/None
turn 1 after 0 at 1767600050000, llama3
  asked 'And its egg?'
  failed (failed), 0 messages kept, usage None/None/None
turn 2 after 0 at 1767600050000, qwen3:8b
  asked 'And its egg?'
  reasoning 'Colour of the egg.' 3000 ms
  tool_call lookup '{"egg":true}' -> 'olive'
  text 'Olive.'
  answered (stop), 0 messages kept, usage 50/9/4
unread: 1 x attached file that the export does not hold (line 2)
