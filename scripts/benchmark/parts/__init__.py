"""What is measured, a file for each section of the page. Each has `measure`, which returns text with tables, and goals."""
