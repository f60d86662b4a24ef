"""Stability of the latent dynamics: what training promotes and what can be certified."""

from smore.stability.regularisers import conservation_penalty, eigenvalue_penalty

__all__ = ["conservation_penalty", "eigenvalue_penalty"]
