"""The laboratory: the paper's benchmarks, configurations and claims, and everything measured here.

It is a user of `smore` like any other: it imports what the rooms' `__init__` export, brings its own
dependencies (`pip install 'smore-rom[paper]'`) and adds its commands by an entry point.
"""
