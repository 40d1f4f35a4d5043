"""Files: read (`input`), written whole or not at all (`output` for users, `whole` for ourselves),
named (`names`), told apart by their first bytes (`kinds`), shipped with the package (`shipped`).
"""
