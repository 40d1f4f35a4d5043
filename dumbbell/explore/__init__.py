"""Explorer: a local application that shows a store in a browser (docs/explorer.md).

`serve` starts it. It binds to the loopback address alone, asks for a token, and writes nothing.
"""
