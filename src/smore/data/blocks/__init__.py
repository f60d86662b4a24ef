"""What the engine works on: some points, and every snapshot known there."""
