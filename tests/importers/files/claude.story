claude

Claude | claude:7d0e-terns | 'Terns' | 1774767994085
turn 0 after -1 at 1774767995000, no model
  asked 'What is in my notes?\n\nnotes.txt:\ntwo terns'
  reasoning 'The note is short.' 3000 ms
  tool_call search '{"query":"tern"}' -> 'a seabird'
  text 'Two terns, which are seabirds.'
  answered (stop), 0 messages kept, usage None/None/None
turn 1 after 0 at 1774768020000, no model
  asked 'And gulls?'
  text 'None.'
  answered (stop), 0 messages kept, usage None/None/None
unread: 1 x attached file that the export does not hold (line 2)
unread: 1 x block of type 'token_budget' (line 2)
