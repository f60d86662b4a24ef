"""`python -m smore`."""

from smore.cli import main

main()
