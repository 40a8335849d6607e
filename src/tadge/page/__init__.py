"""report.html: one page that tells what was learned, to be shown to people."""
