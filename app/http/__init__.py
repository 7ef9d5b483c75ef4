"""The search over HTTP: one router per resource. Everything that FastAPI or Starlette must know is here."""
