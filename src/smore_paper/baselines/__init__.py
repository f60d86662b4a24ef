"""Methods that SMORE is compared with, behind one small interface."""
