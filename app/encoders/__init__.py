"""Every model that the services use, loaded once: encoders, what reads by them, and their default calibrations."""
