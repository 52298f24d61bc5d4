"""The command `evenshare`: Evenshare from a terminal, on the same API as every other program.

It loads neither Django nor anything else of the portal, only Python's own library, so that it
starts at once and can be copied to a machine that has nothing else. `main` reads the command line,
`commands/` holds what can be asked for, `calling` speaks to the portal, `keeping` keeps address and
token, `drawing` lays out tables, `words` speaks the terminal's language.

How it ends:

0  it was done
1  it was refused: the answer says why, and what to do
2  it was asked for in a way that makes no sense
3  the portal cannot be reached, or fails
"""
