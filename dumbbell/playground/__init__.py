"""Offline playground: one page with an editor, the simulator as WebAssembly, and figures that follow."""
