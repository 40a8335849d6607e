"""Forecaster, the estimator: who links to whom and after how long, from named columns."""
