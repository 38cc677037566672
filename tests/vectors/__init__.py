"""Worked examples with known answers, and the program that compares this project with them: python -m tests.vectors FILE…

Each file describes itself (`about`) and its operations (`operations`). Each of its `cases` has a name, an input whose `op`
names the operation, and the expected answer. The program calls the project's public functions and contains no answers.
"""
