"""How things are measured: in fresh processes, on generated fields, against the literal one."""
