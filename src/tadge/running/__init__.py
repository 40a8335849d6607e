"""From a file of events to models, forecasts, figures and a page, in one call."""
