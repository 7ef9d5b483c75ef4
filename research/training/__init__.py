"""How the parts this project ships are trained. Encoders never import this package."""
