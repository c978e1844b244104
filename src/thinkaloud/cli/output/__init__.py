"""What commands print: messages, tables, words, live turns and the pager."""
