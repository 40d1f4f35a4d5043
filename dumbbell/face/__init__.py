"""Shared face of all pages: frame, style, components, colours, keys, and the library of charts.

A page is one HTML file without anything from the network. Its program is its own `scripts/*.js`
behind those of `dumbbell/face/scripts`, joined into one module: no framework, no bundler.
docs/pages.md lists the keys and the components.
"""
