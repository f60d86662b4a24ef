"""The dynamics of given latents: in closed form, and by rollouts."""
