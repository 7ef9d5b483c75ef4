"""The networks under the encoders: their files, their tokenizers, and two ways to run them."""
