"""How docs/chat.cast and docs/chat.svg are made: see tools/record_chat.py."""
