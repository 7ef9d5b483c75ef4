"""Every model that the services use, loaded once: encoders, facets, restorers, and their default calibrations."""
