"""Offline playground: a page with an editor, the simulator as WebAssembly, and figures."""
