"""Thresholds and calibrations: previews, label candidates, fitting, and what a threshold is worth."""
