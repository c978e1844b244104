qwen_code

Qwen Code | qwen_code:7a2d0c11-0000-4000-8000-000000000001 | 'Gulls in north and south' | 1767607200000
turn 0 after -1 at 1767607201000, qwen3-coder-plus
  asked 'Count the gulls in both files.'
  reasoning 'Two files. I read both at once.'
  text 'I read both files.'
  tool_call read_file '{"path":"north.txt"}' -> '3 gulls'
  tool_call read_file '{"path":"south.txt"}' -> failed 'No such file'
  reasoning 'One file is missing.'
  text 'Three in the north; the south has no file.'
  answered (stop), 0 messages kept, usage 2250/63/None
turn 1 after 0 at 1767607220000, qwen3-coder-plus
  asked 'Try it again.'
  text 'There is still no file.'
  answered (stop), 0 messages kept, usage None/None/None
turn 2 after 0 at 1767607230000, gemini-3.8-flash
  asked 'Look in the east instead.'
  reasoning 'East.'
  text 'Five in the east.' signature of gemini gemini-3.8-flash
  answered (STOP), 1 messages kept, usage None/None/None

Qwen Code | qwen_code:7a2d0c11-0000-4000-8000-000000000001/explore-7f3c in qwen_code:7a2d0c11-0000-4000-8000-000000000001 | 'Agent: Search the east folder.' | 1767607231000
turn 0 after -1 at 1767607231000, qwen3-coder-plus
  asked 'Search the east folder.'
  reasoning 'Only one file there.'
  text 'east.txt: five gulls.'
  answered (stop), 0 messages kept, usage None/None/None
unread: 1 x assistant line of which nothing was understood (line 13)
unread: 1 x line of type 'hologram' (line 15)
unread: 1 x message of type 'notification' that Qwen Code wrote itself (line 14)
unread: 1 x part 'hologram' of a reply (line 13)
