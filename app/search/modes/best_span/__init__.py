"""Mode ``best_span``: one vector per query, compared with spans of any length."""

from app.search.modes.best_span.explanation import Explanation as Explanation
from app.search.modes.best_span.mode import BestSpan as BestSpan
from app.search.modes.best_span.queries import SpanQuery as SpanQuery
from app.search.modes.best_span.queries import TokenizedQuery as TokenizedQuery
