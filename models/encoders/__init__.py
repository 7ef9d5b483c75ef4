"""Text to vectors. Every encoder is reached through ``models.encoders.registry``."""
