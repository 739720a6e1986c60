"""Statements of `kawal sql`, in TDengine's syntax, as requests to a Kawal server.

script.py       a text is cut into statements       grammar.py    a statement is found by its form
session.py      the server that is asked            results.py    the answer as a table, JSON or CSV
shell.py        statements are typed                system_tables.py   information_schema
statements.py   all forms: topics.py, databases.py, groups.py, tables.py, insert.py, select.py
"""
