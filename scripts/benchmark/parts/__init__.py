"""What is measured, a file for each question. Each has a function that adds its cells to the result."""
