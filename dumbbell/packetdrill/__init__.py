"""Scripts of packetdrill, played on a kernel in virtual time.

`suite` finds scripts, `plan` says how they are played, `guest` plays one on a kernel, `code`
evaluates the Python in them, `playing` plays many at once, `display` words what came of it.
"""
