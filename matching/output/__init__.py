"""What is written: result files, figures, exports, HTML."""
