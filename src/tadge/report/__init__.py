"""Tables and pages that show results."""
