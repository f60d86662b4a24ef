"""The decoder for given snapshots, and their latents."""
