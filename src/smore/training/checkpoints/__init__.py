"""Where a training stands, on disk, so that one that is cut off can go on."""
