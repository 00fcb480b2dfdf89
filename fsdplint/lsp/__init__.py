"""The language server: what ``check`` and ``fix`` say, in an editor, of text that need not be saved.

Only ``server``, ``translation`` and ``actions`` need pygls.
"""
