"""What is written: result files, figures, exports, and HTML pages."""
