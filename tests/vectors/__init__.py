"""Worked examples with known answers, and the program that asks this project for them: python -m tests.vectors FILE…

A file says of itself what it is `about` and what its `operations` mean. Each of its `cases` has a name, an input whose `op`
says what is asked, and what is expected. The program calls the project's public functions and knows no answer.
"""
