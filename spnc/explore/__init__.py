"""A page that answers questions: the circuit inside, and a small evaluator in JavaScript.

`circuit_data.py` turns a program into data for the script, `page.py` writes the page; the script
and its style are in `web/`.
"""
