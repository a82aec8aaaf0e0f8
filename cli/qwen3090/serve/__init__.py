"""Starts and supervises one engine: render (settings to command line), gates, supervise."""
