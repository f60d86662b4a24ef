"""The tables of the paper, a folder each: what is run, measured, drawn and told."""
