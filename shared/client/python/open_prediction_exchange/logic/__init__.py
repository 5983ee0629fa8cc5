"""What the client does, without doing it: generators that yield what is to be sent or waited for, and get the answers.

One driver runs them with blocking calls, one with asyncio (`drivers.py`); so both clients behave alike.
"""
