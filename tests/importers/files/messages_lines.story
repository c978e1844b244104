messages

Messages | messages:c6d0e947dca6a24eeefab20c35c9613e | '' | None
turn 0 after -1 at None, no model
  asked 'One?'
  reasoning 'one'
  text '1'
  answered (stop), 1 messages kept, usage None/None/None

Messages | messages:5c5fc4cbe46832b5a1c937a85f2cc25b | '' | None
turn 0 after -1 at None, no model
  asked 'Two?'
  text '2'
  answered (stop), 1 messages kept, usage None/None/None
