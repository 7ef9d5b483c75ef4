"""Mode ``maxsim``: several vectors per query, and documents compared with it by their nuggets."""

from app.search.modes.maxsim.mode import MaxSimMode as MaxSimMode
