"""Explorer: a local application that shows a store in a browser (docs/explorer.md).

`serve` starts it. It binds to the loopback address alone, asks for a token, and writes nothing.

`guard` checks requests, `server` has the routes, `shelf` is a store that may change, `series` lines
per pixel; each view of the page is a file. `again` and `editing` run the simulator.
"""
