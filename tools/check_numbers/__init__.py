"""Every number in README and docs names the cell it was measured in, and is compared with it.

A source is a comment right behind a figure, which nobody sees on the rendered page:

    4.8e-8<!-- recipes.csv preset=wave-koopman seed=median full_mse -->
    99%<!-- decoder_alone.csv dataset=wave recipe=fast decoder_mse / same full_mse -->

`pages` finds the numbers of a page, `sources` looks up what a comment names, `figures` compares at
the digits that are quoted. CONTRIBUTING.md tells the whole syntax.
"""

from check_numbers.check import Problem, check_page, check_repository

__all__ = ["Problem", "check_page", "check_repository"]
