"""Training of the parts that this project ships. Encoders never import this package."""
