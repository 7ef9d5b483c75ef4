"""The search itself: encode, engine, threshold, texts, hits. No HTTP, no SQL."""
