"""Forecasts for pairs: who links to whom, and after how long, from what both had done by then."""
