"""Drawings as SVG: scales with round ticks, axes with units, bars, lines and points; colours come from the page."""
