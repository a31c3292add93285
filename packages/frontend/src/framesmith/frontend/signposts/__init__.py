"""Where is it handled? What `framesmith where` answers from: tables, topics, definitions and the program's real objects."""
