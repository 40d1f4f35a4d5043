"""Output of `dumbbell run`: an overview, latency under load, page loads, and sentences.

`cells` has what happened, `findings` what stands out, `causes` why, `contrasts` the effect of each
factor, `differences` the reason of an effect.
"""
