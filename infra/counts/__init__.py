"""Counters and histograms of all processes of an instance, for monitoring."""
