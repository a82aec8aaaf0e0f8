"""Model files by manifest: fetch, verify, share, collect. models.json says what."""
