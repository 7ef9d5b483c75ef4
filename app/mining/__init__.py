"""Mining: all hits of thousands of phrases, and tables of them, from few passes over memory."""
